# SPDX-License-Identifier: Apache-2.0
"""Makes the installed PyTorch act as one built for ROCm, in every Python that has this folder on its path.

For building extensions, not for running them: there is no code for a GPU in it. The headers of PyTorch for ROCm are in
the folder HIPPORT_OVERLAY (`hipport.toolchain.overlay`).
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_CHANGED = ("torch", "torch.utils.cpp_extension")


class _Finder:
    """Finds the modules at their usual places, and changes them once they are loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in _CHANGED:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                _change(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _change(module: Any) -> None:
    if module.__name__ == "torch":
        module.version.hip, module.version.cuda = "6.4.43484", None
        # PyTorch's own tests before it looks for ROCm.
        module.cuda._is_compiled = lambda: True
        # As in a container that builds packages.
        module.cuda.is_available = lambda: False
        module.cuda.device_count = lambda: 0
    else:
        include_paths = module.include_paths
        module.include_paths = lambda *given, **more: [os.environ["HIPPORT_OVERLAY"], *include_paths(*given, **more)]


sys.meta_path.insert(0, _Finder())
