# SPDX-License-Identifier: Apache-2.0
"""Which variables of the environment code of a tree gets to see: an allow-list, as a shell has keys and tokens in it.

What is not named here is not passed on: `--env NAME` passes on one more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hipport.core.tables import load, one_of

_TABLE = load(Path(__file__).with_suffix(".toml"))
#: What programs, interpreters, compilers, ROCm, PyTorch and build tools are told with.
_ALLOWED = re.compile("|".join(one_of(names, r"\w+") for names in _TABLE["allowed"].values()))
#: What is a secret whatever it begins with: TORCH_HUB_TOKEN, CMAKE_PASSWORD.
_SECRET = re.compile(
    rf"{one_of(_TABLE['secret']['parts'])}|(?:^|_)(?:{one_of(_TABLE['secret']['words'])}(?:_|$)"
    rf"|{one_of(_TABLE['secret']['of_keys'])}_?KEY)",
    re.IGNORECASE,
)
#: What is one whatever it is called: redis://:password@host, https://ghp_0123456789abcdef@host.
_WITH_PASSWORD = re.compile(r"://(?:[^/\s@]*:[^/\s@]+|[^/\s@]{16,})@")


def allowed(env: Mapping[str, str], more: Sequence[str] = ()) -> dict[str, str]:
    """Return what of an environment code of a tree may see: what is on the list, and the names in `more`."""
    passed = {
        name: value
        for name, value in env.items()
        if name in more or (_ALLOWED.fullmatch(name) and not _SECRET.search(name) and not _WITH_PASSWORD.search(value))
    }
    if "MAKEFLAGS" in passed and "MAKEFLAGS" not in more:
        # Behind its options make passes on the variables of its command line: `make TOKEN=…`.
        passed["MAKEFLAGS"] = re.split(r"(?:^|\s)--(?:\s|$)", passed["MAKEFLAGS"])[0]
    return from_anywhere(passed)


def from_anywhere(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that means the same in every folder.

    Of the lists of folders that programs and libraries are found by, what is relative to the current folder goes (an
    empty entry too: `PATH=:/usr/bin`). That folder may be a tree of somebody else's, with a `hipcc` of its own.
    """
    kept = dict(env)
    for name in ("PATH", "LD_LIBRARY_PATH"):
        if name in env:
            folders = [folder for folder in env[name].split(os.pathsep) if folder.startswith(os.sep)]
            kept[name] = os.pathsep.join(folders)
    return kept
