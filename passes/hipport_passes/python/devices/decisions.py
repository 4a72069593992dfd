# SPDX-License-Identifier: Apache-2.0
"""The program's own decisions about the device at a place, and the time at which the place runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.core.tables import Words
from hipport.syntax.build_names import NAMES

if TYPE_CHECKING:
    import libcst as cst

    from hipport_passes.build_files.build_scripts.script import Script

_WORDS = Words.read(Path(__file__).parent.with_name("device_strings.toml"), general=NAMES)
# A condition about the device.
_DECIDES = _WORDS.compile(r"(?&decides)|\b(?&cpu)|\b(?&decides_alone)\b", re.IGNORECASE)
# A decorator of tests that need a GPU.
_FOR_GPUS = _WORDS.compile(r"(?=.*(?:(?&cuda)|(?&gpu)))(?=.*(?&skips))", re.IGNORECASE | re.DOTALL)
_CUDA_DEVICE = _WORDS.compile(r"(?:(?&torch)\.(?&device)\()?[\"'](?&cuda)(?::\d+)?[\"']\)?")


class Decisions:
    """Facts about places in a file. `helper` is the name of the function that chooses, if there is one."""

    def __init__(self, script: Script, helper: str) -> None:
        self.script = script
        self.helper = helper

    def decided(self, node: cst.CSTNode) -> bool:
        """Return whether the place already depends on the device, or is not for the CPU at all."""
        import libcst as cst

        for test, wanted in self.script.conditions(node):
            without = self.without_gpu(test)
            # `if x.device != "cuda": x = x.to("cuda")` also runs on a CPU, despite its condition.
            if without is not None and without is not wanted:
                return True
            if without is None and _DECIDES.search(self.script.code(test)):
                return True
        for above, child in self.script.ancestors(node):
            if isinstance(above, (cst.FunctionDef, cst.ClassDef)):
                if child not in above.decorators and any(
                    _FOR_GPUS.search(self.script.code(each)) for each in above.decorators
                ):
                    return True
                if isinstance(above, cst.FunctionDef) and above.name.value == self.helper:
                    return True
            elif isinstance(above, cst.While) and _DECIDES.search(self.script.code(above.test)):
                return True
        return False

    def without_gpu(self, test: cst.CSTNode) -> bool | None:
        """Return the value of a condition where there is no GPU; None if it is unknown."""
        import libcst as cst

        match test:
            case cst.UnaryOperation(operator=cst.Not()):
                value = self.without_gpu(test.expression)
                return None if value is None else not value
            case cst.BooleanOperation():
                values = {self.without_gpu(test.left), self.without_gpu(test.right)}
                decisive = isinstance(test.operator, cst.Or)
                if decisive in values:
                    return decisive
                return None if None in values else not decisive
            case cst.Attribute(attr=cst.Name("is_cuda")):
                return False
            case cst.Call(
                func=cst.Attribute(value=cst.Attribute(attr=cst.Name("cuda")), attr=cst.Name("is_available"))
            ):
                return False
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator, right)]) if isinstance(
                operator, (cst.Equal, cst.NotEqual)
            ) and "device" in self.script.code(left):
                code = self.script.code(right)
                if _CUDA_DEVICE.fullmatch(code):
                    return isinstance(operator, cst.NotEqual)
        return None

    def scripted(self, node: cst.CSTNode) -> bool:
        """Return whether TorchScript may compile the place: it cannot call untyped functions."""
        import libcst as cst

        return b"jit.script" in self.script.source.text and any(
            isinstance(above, cst.FunctionDef) and child is above.body for above, child in self.script.ancestors(node)
        )

    def imported(self, node: cst.CSTNode) -> bool:
        """Return whether importing the file runs the place: it is in no function's body, and not under `__main__`."""
        import libcst as cst

        for above, child in self.script.ancestors(node):
            if isinstance(above, (cst.FunctionDef, cst.Lambda)) and child is above.body:
                return False
            if isinstance(above, cst.If) and "__name__" in self.script.code(above.test):
                return False
        return True

    def only_a_type(self, node: cst.CSTNode) -> bool:
        """Return whether the place is only a type, or only its type is tested."""
        import libcst as cst

        for above, _ in self.script.ancestors(node):
            if isinstance(above, cst.Annotation):
                return True
            if isinstance(above, cst.Call) and self.script.code(above.func) in ("isinstance", "issubclass"):
                return True
            if isinstance(above, cst.BaseSmallStatement):
                return False
        return False
