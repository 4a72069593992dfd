# SPDX-License-Identifier: Apache-2.0
"""Strings that name a device, and their places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.core.tables import Words, one_of
from hipport.syntax.build_names import NAMES
from hipport.syntax.python_script import Python
from hipport_passes.python.devices.files import signatures

if TYPE_CHECKING:
    import libcst as cst

    from hipport_passes.build_files.build_scripts.script import Script

_WORDS = Words.read(Path(__file__).parent.with_name("device_strings.toml"), general=NAMES)
_NAMED = re.compile(rf"(?:\w*_)?{one_of(_WORDS['named'])}", re.IGNORECASE)
# Calls whose first argument is a device.
_FIRST = frozenset(_WORDS["places"].split())
_LOADS = frozenset(_WORDS["loads"].split())
_OTHER = re.compile(rf"[\"']{one_of(_WORDS['others'])}")
# Here a device is one of two fixed words, not the place of a computation.
_NO_PLACE = frozenset(("custom_fwd", "custom_bwd", "partial", "fork_rng", "init_device_mesh", "DeviceMesh"))
_LOOKS_UP = frozenset(("get", "pop", "getattr", "setdefault", "getenv"))
_OPTIONS = frozenset(("add_argument", "option", "Option", "Argument", "Field", "field"))


class DevicePlaces:
    """The values of a file that are devices. `others` are the files of its program, including itself."""

    def __init__(self, script: Script, others: Sequence[Python]) -> None:
        self.script = script
        self.others = others

    def compared(self, node: cst.CSTNode) -> bool:
        """Return whether the value is compared, perhaps in a call: then the code tests for a GPU."""
        import libcst as cst

        for above, _ in self.script.ancestors(node):
            if isinstance(above, cst.Comparison):
                return True
            if not isinstance(above, (cst.Arg, cst.Call, cst.ComparisonTarget)):
                return False
            if isinstance(above, cst.Call) and self.script.code(above.func) not in ("torch.device", "device", "str"):
                return False
        return False

    def index_of(self, node: cst.CSTNode, word: str) -> tuple[cst.CSTNode | None, str]:
        """Return the whole expression of f"cuda:{index}", "cuda:{}".format(index) and the like, and the index."""
        import libcst as cst

        above = self.script.parent[node]
        match node:
            case cst.FormattedString(
                parts=[cst.FormattedStringText("cuda:"), cst.FormattedStringExpression() as part]
            ) if part.conversion is None and part.format_spec is None and part.equal is None:
                return node, self.script.code(part.expression)
        match above:
            case cst.Attribute(attr=cst.Name("format")) if word == "cuda:{}":
                call = self.script.parent[above]
                if isinstance(call, cst.Call) and len(call.args) == 1 and call.args[0].keyword is None:
                    return call, self.script.code(call.args[0].value)
            case cst.BinaryOperation(operator=cst.Modulo(), right=right) if word in ("cuda:%d", "cuda:%s"):
                if not isinstance(right, cst.Tuple):
                    return above, self.script.code(right)
            case cst.BinaryOperation(operator=cst.Add(), right=cst.Call(func=cst.Name("str"), args=[argument])) if (
                word == "cuda:"
            ):
                return above, self.script.code(argument.value)
        return None, ""

    def place(self, node: cst.CSTNode) -> tuple[bool, bool]:
        """Return whether the value is a device, and whether the GPU is used at once."""
        import libcst as cst

        script = self.script
        value, above = node, script.parent[node]
        while isinstance(above, cst.BooleanOperation) or (isinstance(above, cst.IfExp) and value is not above.test):
            value, above = above, script.parent[above]
        # A list with one item: `"devices": ["cuda:0"]`.
        devices = script.parent.get(above)
        if isinstance(above, cst.Element) and isinstance(devices, (cst.List, cst.Tuple)):
            holder = script.parent[devices]
            name = script.text(holder.key) if isinstance(holder, cst.DictElement) else ""
            if isinstance(holder, cst.Assign) and isinstance(holder.targets[0].target, cst.Name):
                name = holder.targets[0].target.value
            return len(devices.elements) == 1 and name.endswith("devices"), False
        match above:
            case cst.Arg():
                call = script.parent[above]
                return self._argument(above, call) if isinstance(call, cst.Call) else (False, False)
            case cst.Assign(targets=targets):
                return any(self._named(each.target) for each in targets), False
            case cst.AnnAssign(target=target):
                return self._named(target), False
            case cst.Param(name=cst.Name(name)):
                return _NAMED.fullmatch(name) is not None and value is above.default, False
            case cst.DictElement(key=key):
                return value is above.value and _NAMED.fullmatch(script.text(key)) is not None, False
            case cst.Return():
                function = script.function(above)
                return function is not None and function.name.value.endswith("device"), False
        return False, False

    def _named(self, target: cst.BaseExpression) -> bool:
        import libcst as cst

        match target:
            case cst.Name(name) | cst.Attribute(attr=cst.Name(name)):
                return _NAMED.fullmatch(name) is not None
            case cst.Subscript():
                return _NAMED.fullmatch(self.script.key(target)) is not None
        return False

    def _argument(self, argument: cst.Arg, call: cst.Call) -> tuple[bool, bool]:
        import libcst as cst

        script = self.script
        code = script.code(call.func)
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else code
        place = next(i for i, each in enumerate(call.args) if each is argument)
        # torch.device("cuda") and a generator's device use no GPU yet; tensors are created at once.
        now = (code.startswith("torch.") and method not in ("device", "Generator", "autocast")) or method == "to"
        if argument.star or method in _NO_PLACE:
            return False, False
        if argument.keyword is None:
            if method in _LOOKS_UP and place == len(call.args) - 1 and place > 0:
                return _NAMED.fullmatch(script.text(call.args[place - 1].value)) is not None, False
            first = method == "to" or code in _FIRST
            known = (place == 0 and first) or (place == 1 and code in _LOADS)
            return known or self._parameter(method, place), now
        keyword = argument.keyword.value
        if keyword == "default" and method in _OPTIONS:
            names = [script.text(each.value) for each in call.args if each.keyword is None]
            option = any(_NAMED.fullmatch(name.lstrip("-").replace("-", "_")) for name in names)
            above = script.parent[call]
            named = isinstance(above, cst.AnnAssign) and self._named(above.target)
            return option or named, False
        if keyword == "device_type":
            return method == "autocast", False
        if keyword == "map_location":
            return True, now
        return keyword != "use_device" and _NAMED.fullmatch(keyword) is not None, now

    def _parameter(self, name: str, place: int) -> bool:
        """Return whether a function or class of the program with that name has a device parameter there."""
        found = [known for each in self.others for known in each.fact(signatures).get(name, ())]
        return bool(found) and all(place < len(names) and _NAMED.fullmatch(names[place]) for names in found)

    def overridden(self, node: cst.CSTNode) -> bool:
        """Return whether the variable of the string gets another device elsewhere, so that the program chooses."""
        import libcst as cst

        match self.script.parent[node]:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as target)]) as assignment:
                values = [each for each in self.script.values(target) if each is not assignment.value]
                return any(each is not None and _OTHER.search(self.script.code(each)) for each in values)
        return False
