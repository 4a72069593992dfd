# SPDX-License-Identifier: Apache-2.0
"""CUDA C++: what nvcc compiles, and headers with device code in them."""

from __future__ import annotations

from dataclasses import dataclass

from hipport.languages.cpp import Cpp


@dataclass(frozen=True)
class Cuda(Cpp):
    """C++ with execution spaces and launches."""

    @property
    def grammar(self) -> str:
        return "cuda"
