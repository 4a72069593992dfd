# SPDX-License-Identifier: Apache-2.0
"""CUDA's parts of a build's own options: `[build_ext]` in setup.cfg, `options={"build_ext": …}` in setup()."""

from __future__ import annotations

import re

from hipport.syntax.build_names import NAMES
from hipport_passes.build_files.nvcc_flags import CUDA_FOLDER, library

# How setuptools splits each value (build_ext.finalize_options, setuptools 80).
_PARTS = {
    "define": re.compile(r"[^,]+"),
    "include_dirs": re.compile(r"[^:;\s]+"),
    "library_dirs": re.compile(r"[^:;\s]+"),
    "rpath": re.compile(r"[^:;\s]+"),
    "libraries": re.compile(r"[^,\s]+"),
}
_OLD_ABI = NAMES.compile(r"(?&abi)=0")


def changed(option: str, value: str) -> list[str]:
    """Return the parts of a build_ext option on ROCm, for the parts that change."""
    said = []
    for part in _PARTS[option].findall(value) if option in _PARTS else ():
        part = part.strip()
        if option == "define":
            if _OLD_ABI.fullmatch(part):
                said.append(f"{part}: the old ABI of the C++ library; PyTorch for ROCm uses the new one")
        elif option == "libraries":
            found = library(part)
            if found is not None:
                hip, why = found
                said.append(f"{part}: {why}" if why else f"{part} → {hip or 'dropped'}")
        elif CUDA_FOLDER.match(part):
            said.append(f"{part} → dropped: ROCm's compiler knows its own folders")
    return said
