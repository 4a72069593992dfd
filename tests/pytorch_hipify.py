# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own converter without PyTorch, which takes three seconds to load in each process of the tests."""

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest


def folder(reason: str) -> Path:
    """Return the folder of its package `hipify`; without a PyTorch, the test or its file is skipped."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        pytest.skip(reason, allow_module_level=True)
    return Path(found.origin).parent / "utils"


def module(reason: str) -> Any:
    """Return `torch.utils.hipify.hipify_python`; without a PyTorch, the test or its file is skipped."""
    place = str(folder(reason))
    sys.path.insert(0, place)
    try:
        return importlib.import_module("hipify.hipify_python")
    finally:
        sys.path.remove(place)
