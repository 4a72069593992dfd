# SPDX-License-Identifier: Apache-2.0
"""The environment variables that code of a tree may see: an allow-list, because a shell holds keys and tokens.

Other variables are not passed on. `--env NAME` passes one more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hipport.core.tables import load, one_of

_TABLE = load(Path(__file__).with_suffix(".toml"))
#: Settings of programs, interpreters, compilers, ROCm, PyTorch and build tools.
_ALLOWED = re.compile("|".join(one_of(names, r"\w+") for names in _TABLE["allowed"].values()))
#: Secrets, whatever their prefix: TORCH_HUB_TOKEN, CMAKE_PASSWORD.
_SECRET = re.compile(
    rf"{one_of(_TABLE['secret']['parts'])}|(?:^|_)(?:{one_of(_TABLE['secret']['words'])}(?:_|$)"
    rf"|{one_of(_TABLE['secret']['of_keys'])}_?KEY)",
    re.IGNORECASE,
)
#: Secret values, whatever the name: redis://:password@host, https://ghp_0123456789abcdef@host.
_WITH_PASSWORD = re.compile(r"://(?:[^/\s@]*:[^/\s@]+|[^/\s@]{16,})@")
_PREFIXES = one_of("github_pat_ glpat- hf_ sk- AKIA ASIA")
#: Tokens that can be recognized: of GitHub, GitLab, Hugging Face, OpenAI, AWS and Slack, and those of HTTP.
_TOKEN = re.compile(
    rf"(?<![A-Za-z0-9])(?:gh[pousr]_|xox[abpr]-|{_PREFIXES})[A-Za-z0-9_-]{{16,}}"
    r"|\bBearer\s"
)
#: An address with settings, as ccache's: http://host/path|bearer-token=0123.
_OF_ADDRESS = re.compile(r"[?&|;]([\w-]+)=")


def allowed(env: Mapping[str, str], more: Sequence[str] = ()) -> dict[str, str]:
    """Return the part of an environment that code of a tree may see: the allow-list, and the names in `more`."""
    passed = {
        name: value
        for name, value in env.items()
        if name in more or (_ALLOWED.fullmatch(name) and not _SECRET.search(name) and not _has_secret(value))
    }
    if "MAKEFLAGS" in passed and "MAKEFLAGS" not in more:
        # After its options, make passes on the variables of its command line: `make TOKEN=…`.
        options = re.split(r"(?:^|\s)--(?:\s|$)", passed["MAKEFLAGS"])[0]
        secret = (word for word in options.split() if "=" in word and _SECRET.search(word.partition("=")[0]))
        for word in secret:
            options = options.replace(word, "")
        passed["MAKEFLAGS"] = options.strip()
    return from_anywhere(passed)


def _has_secret(value: str) -> bool:
    named = _OF_ADDRESS.findall(value) if "://" in value else []
    return bool(
        _WITH_PASSWORD.search(value)
        or _TOKEN.search(value)
        or any(_SECRET.search(name.replace("-", "_")) for name in named)
    )


def from_anywhere(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that has the same meaning in every folder.

    Search paths of programs and libraries lose their relative entries, including empty ones: `PATH=:/usr/bin`. The
    current folder may be somebody else's tree, with a `hipcc` of its own.
    """
    kept = dict(env)
    for name in ("PATH", "LD_LIBRARY_PATH"):
        if name in env:
            folders = [folder for folder in env[name].split(os.pathsep) if folder.startswith(os.sep)]
            kept[name] = os.pathsep.join(folders)
    return kept
