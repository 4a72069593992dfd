# SPDX-License-Identifier: Apache-2.0
"""Find hipport's files that a commit would omit: staged files include them, but they are not in Git's index.

This runs the user's Git, as a hook does. Only `hipport rewrite --staged` uses it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import PurePath

from hipport.core.edits import NewFile
from hipport.engine.outcomes import Ported
from hipport.program.own_headers import asked_for, modules, text, with_included_headers
from hipport.syntax.cpp import Cpp
from hipport.workspace.environment import from_anywhere

# The names of an empty text, by SHA-1 and SHA-256.
_EMPTY = frozenset(getattr(hashlib, kind)(b"blob 0\0").hexdigest().encode() for kind in ("sha1", "sha256"))
# Seconds; the command only lists a few names.
_LIMIT = 60.0


def left_out(ported: Ported, env: Mapping[str, str]) -> dict[PurePath, PurePath]:
    """Return hipport's files that are not in Git's index, each with a staged file that includes it.

    Raises ValueError if Git fails.
    """
    project, root = ported.project, ported.project.root
    includes: dict[PurePath, PurePath] = {}
    # Files in a submodule belong to another repository.
    sources = [
        source
        for source in project.sources
        if root is not None
        and not any((root / folder / ".git").exists() for folder in source.path.parents if folder.parts)
    ]
    for source in sources:
        for _, place in asked_for(source) if isinstance(source, Cpp) and project.concerns(source.path) else ():
            if place.parts[:1] != ("..",):
                for file in with_included_headers(NewFile(place, text(place.name))):
                    includes.setdefault(file.path, source.path)
    for script, _, place in modules(sources):
        if place.parts[:1] != ("..",) and project.concerns(script.path):
            includes.setdefault(place, script.path)
    if not includes:
        return {}
    names = sorted(place.as_posix() for place in includes)
    # The repository's settings may name programs: none of them is run.
    settings = ["-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"]
    command = ["git", "--literal-pathspecs", "--no-pager", *settings, "ls-files", "-s", "-z", "--", *names]
    # To list a folder that a sparse checkout leaves out, Git may fetch it by a program that they name.
    nothing_fetched = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
    own = {**from_anywhere(env), "GIT_OPTIONAL_LOCKS": "0", **nothing_fetched}
    try:
        done = subprocess.run(
            command, cwd=root, env=own, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        told = getattr(error, "stderr", None) or str(error).encode()
        why = told.decode("utf-8", "replace").strip().partition("\n")[0]
        raise ValueError(
            f"--staged is for files of a Git repository, and Git does not list those of {root}: {why}. Without "
            "--staged, Git is not asked"
        ) from error
    entries = (entry.partition(b"\t") for entry in done.stdout.split(b"\0"))
    # After `git add --intent-to-add` the index has the name and no text, and a commit leaves the file out.
    known = {
        name.decode("utf-8", "surrogateescape") for about, _, name in entries if not _EMPTY.intersection(about.split())
    }
    return {place: path for place, path in sorted(includes.items()) if place.as_posix() not in known}
