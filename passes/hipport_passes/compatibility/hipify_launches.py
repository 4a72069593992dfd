# SPDX-License-Identifier: Apache-2.0
"""Write the launches of PyTorch extensions in a form that PyTorch's hipify does not garble.

hipify turns each launch into `hipLaunchKernelGGL(…)` by text. It also moves the byte in front of the kernel's name:
`;k<<<…>>>` and `CHECK(k<<<…>>>` lose their beginning, and `else k` its blank. It ends the grid and the block at a comma
outside of parentheses, and counts them where `<` and `>` are balanced: shifts, comparisons, templates and braces break
both. It counts a macro with two values as one (if that is the whole configuration, it ends with a KeyError). It
replaces texts wherever they occur: the name's text also in the configuration, and vice versa. Text between `>>>` and a
parenthesis is lost.

A blank in front of the kernel is enough for most launches. Otherwise the launch is written as `hipLaunchKernelGGL(…)`,
which hipify does not read again. Both this form and hipify's result are statements: a launch that is an operand or the
argument of a macro goes into a lambda that is called at once. All of these are the same launch. Other programs keep
their launches.

Read in torch/utils/hipify/hipify_python.py of PyTorch 2.13 (the same in 2.14 and 2.15), and tried with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from hipport.analysis.macros import Macro, calls, defined, expanded
from hipport.core.edits import Edit, Span
from hipport.core.finding import Certainty, Finding
from hipport.engine.pipeline import Pass
from hipport.program.extensions import extensions
from hipport.program.project import Project
from hipport.syntax.cpp import Cpp, word_before
from hipport.syntax.kernel_launches import WrittenLaunch, written
from hipport_passes.names.pytorch_headers import includes_pytorch

#: Kinds of extensions whose files hipify converts.
_KINDS = frozenset(("CUDAExtension", "load", "load_inline"))
_NAME = re.compile(rb"[\w():#]+\Z")
_TEMPLATE = re.compile(rb"([\w():#]+)\s*(<.*>)\Z", re.DOTALL)
_WORD = re.compile(rb"\w")
_COMMENT = re.compile(rb"//|/\*")
_TRIPLE = re.compile(rb"<<<")
#: Text after a launch that is a statement.
_ENDS = re.compile(rb"(?:[ \t\r\n]|\\(?=\s))*(?:[;}]|\Z)")
_BRACKETS = re.compile(rb"[()\[\]{},<>]")
_PARAMETERS = re.compile(rb"#[ \t]*define[ \t]+(?P<name>\w+)\((?P<parameters>[^()]*)\)")
_MACRO_USE = re.compile(rb"(?P<name>[A-Za-z_]\w*)\s*(?P<given>\(.*\))?", re.DOTALL)
#: Words that an operand follows.
_OPERATORS = frozenset(b"return co_return co_yield co_await throw and or not".split())


def find(source: Cpp, project: Project) -> Iterator[Finding]:
    """Yield a finding per launch of an extension that hipify would garble."""
    if b"<<<" not in source.code or not _converted(source, project):
        return
    known = set()
    for launch in written(source):
        if isinstance(launch, Span):
            if not source.ported(launch.start):
                known.add(launch.start)
                yield _apart(launch, "its configuration ends elsewhere")
            continue
        known.add(launch.opening.start)
        if not source.ported(launch.opening.start):
            yield from _launch(source, project, launch)
    for match in _TRIPLE.finditer(source.code):
        if match.start() not in known and word_before(source.code, match.start()) == b"operator":
            at = match.end() - 1
            message = "operator<<<…> → operator<< <…>: PyTorch's hipify takes it for a launch and looks for its end"
            yield Finding(Span(*match.span()), "operator", message, (Edit(Span(at, at), b" "),))


def _converted(source: Cpp, project: Project) -> bool:
    """Return whether hipify converts the file when the extension is built."""
    return bool(project.union_over(source, includes_pytorch)) or source.path in project.fact(_paths)


def _paths(project: Project) -> frozenset[PurePath]:
    found: set[PurePath] = set()
    for extension in extensions(project):
        paths = (*extension.sources, *extension.headers)
        files = [each for path in paths if isinstance(each := project.by_path.get(path), Cpp)]
        if extension.kind in _KINDS or any(each.fact(includes_pytorch) for each in files):
            found |= set(paths)
    return frozenset(found)


def _launch(source: Cpp, project: Project, launch: WrittenLaunch) -> Iterator[Finding]:
    kernel = launch.kernel
    if len(launch.opening) > 3 or len(launch.closing) > 3:
        return  # `launch_syntax` has not joined its brackets, and hipify does not recognize it.
    if launch.arguments is None:
        yield _apart(launch.opening, "no arguments in parentheses follow it")
        return
    if kernel is None:
        yield _apart(launch.opening, "the beginning of its kernel was not found")
        return
    whole = Span(kernel.start, launch.arguments.end)
    if any(whole.start < each.start < launch.arguments.start for each in source.directives):
        yield _apart(launch.opening, "it contains a directive")
        return
    place = Span(kernel.start, launch.opening.end)
    operand = _is_operand(source, launch)
    begin, end = (b"[&] { ", b"; }()") if operand else (b"", b"")
    blanks = b"" if operand else _blanks(source, kernel.start)
    delimiter = b" " if operand or blanks or not kernel.start else source.text[kernel.start - 1 : kernel.start]
    values = [_values(source, project, part) for part in launch.configuration]
    count = sum(each or 0 for each in values)
    if None in values or not 2 <= count <= 4:
        yield _apart(launch.opening, "the number of values of a macro in its configuration was not found")
        return
    more = count - len(values)
    why = "a macro in its configuration has more than one value" if more else _shape(source, launch, delimiter)
    if why:
        # The name of the macro must not become part of the word before.
        begin = begin or blanks[1:]
        edits = [Edit(Span(kernel.start, kernel.start), begin + b"hipLaunchKernelGGL((")]
        edits += _called(source, launch, more)
        edits += [Edit(Span(whole.end, whole.end), end)] if operand else []
        message = f"a launch → hipLaunchKernelGGL(…): PyTorch's hipify would break this launch, because {why}"
        if operand:
            message += "; in a lambda, because the launch is an operand here"
        yield Finding(place, "shape", message, tuple(edits))
    elif operand:
        edits = [Edit(Span(kernel.start, kernel.start), begin), Edit(Span(whole.end, whole.end), end)]
        message = (
            "a launch → [&] { a launch; }(): PyTorch's hipify turns it into a statement, and an operand is needed here"
        )
        yield Finding(place, "operand", message, tuple(edits))
    elif blanks:
        at = Span(kernel.start, kernel.start)
        name = " ".join(source[kernel].decode("utf-8", "replace").split())
        message = f"a blank in front of {name}: PyTorch's hipify would take the byte before it into the launch"
        yield Finding(place, "glued", message, (Edit(at, blanks),))


def _apart(opening: Span, why: str) -> Finding:
    message = (
        f"PyTorch's hipify would break this launch, because {why}: write it in one piece, "
        "kernel<<<grid, block>>>(arguments), or as hipLaunchKernelGGL(kernel, grid, block, shared, stream, arguments)"
    )
    return Finding(opening, "apart", message, certainty=Certainty.MANUAL)


def _blanks(source: Cpp, start: int) -> bytes:
    """Return the missing blanks in front of a kernel, because hipify moves the byte there into the launch."""
    text = source.text
    if not start:
        return b""
    before = text[start - 1 : start]
    if before in b" \t":
        return b" " if start > 1 and _WORD.match(text, start - 2) else b""
    if before not in b"\r\n":
        return b"  " if _WORD.match(before) else b" "
    first = max(text.rfind(b"\n", 0, start - 1), text.rfind(b"\r", 0, max(0, start - 2))) + 1
    line = text[first : start - 1].rstrip(b"\r")
    comment = any(source.code[first + at : first + at + 2] != b"//" for at in _found(line, b"//"))
    # The end of a comment, a directive, a continued line or a word.
    needed = comment or line.lstrip().startswith(b"#") or line.endswith(b"\\") or _WORD.match(line[-1:])
    return b" " if needed else b""


def _found(text: bytes, part: bytes) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _is_operand(source: Cpp, launch: WrittenLaunch) -> bool:
    """Return whether the launch is part of a larger expression, or an argument of a macro, which may use it in one."""
    code = source.code
    assert launch.kernel is not None and launch.arguments is not None
    directive = source.directive(launch.opening.start)
    if not _ENDS.match(code, launch.arguments.end, directive.end if directive else len(code)):
        return True
    before = code[launch.floor : launch.kernel.start].rstrip(b" \t\r\n\\")
    if not before or before.endswith((b";", b"{", b"}")):
        return False
    if before.endswith(b":"):
        return _is_chosen(before)
    if before.endswith(b")"):
        opening = _opening_of(before)
        word = word_before(before, opening) if opening is not None else b""
        return not word  # A cast.
    # Two adjacent names: the first is a macro, and a statement of its own follows it.
    return not _WORD.match(before, len(before) - 1) or word_before(before, len(before)) in _OPERATORS


def _is_chosen(text: bytes) -> bool:
    """Return whether the colon at the end belongs to `a ? b : c`, not to a label."""
    depth = 0
    for at in range(len(text) - 1, max(-1, len(text) - 4000), -1):
        byte = text[at : at + 1]
        if byte in b")]}":
            depth += 1
        elif byte in b"([{":
            depth -= 1
        elif byte == b"?" and not depth:
            return True
        if depth < 0 or (byte == b";" and not depth):
            break
    return False


def _opening_of(text: bytes) -> int | None:
    depth = 0
    for at in range(len(text) - 1, max(-1, len(text) - 4000), -1):
        depth += (text[at : at + 1] == b")") - (text[at : at + 1] == b"(")
        if not depth:
            return at
    return None


def _shape(source: Cpp, launch: WrittenLaunch, delimiter: bytes) -> str:
    """Return why hipify would misread the launch with `delimiter` in front of it; "" if it would not."""
    text = source.text
    assert launch.kernel is not None and launch.arguments is not None
    kernel = text[launch.kernel.start : launch.kernel.end]
    named = _NAME.match(kernel)
    template = None if named else _TEMPLATE.match(kernel)
    if template and not _even(template[2]):
        template = None
    if not named and not template:
        return "its kernel is more than a name with template arguments"
    if b">>>" in kernel:
        return "its template arguments have >>> in them"
    inside = text[launch.opening.end : launch.closing.start]
    around = text[launch.kernel.end : launch.opening.start] + inside + text[launch.closing.end : launch.arguments.start]
    if _COMMENT.search(around):
        return "it contains a comment"
    if b">>>" in inside:
        return "its configuration contains >>>"
    cuts = _commas(inside)
    if cuts is None or len(cuts) != len(launch.configuration) - 1:
        return "its configuration has <, > or commas that are neither brackets nor ends of the grid or the block"
    end = cuts[1] if len(cuts) > 1 else len(inside)
    both = inside[:end]
    if both in kernel or both in inside[end:]:
        return "the text of its grid and block occurs in it twice"
    if delimiter + kernel in _converted_text(inside, cuts):
        return "the text of its kernel's name also occurs in the configuration"
    return ""


def _converted_text(inside: bytes, cuts: list[int]) -> bytes:
    """Return the configuration with `dim3(` in front of the grid and the block, as hipify inserts it."""
    parts = [inside[a + 1 : b] for a, b in zip([-1, *cuts], [*cuts, len(inside)], strict=True)]
    return b", " + b",".join(part if i > 1 or b"\n" in part.strip() else part.lstrip() for i, part in enumerate(parts))


def _even(template: bytes) -> bool:
    """Return whether each `<` and `>` is a bracket of template arguments, read from the end."""
    depth = 0
    for at in range(len(template) - 1, -1, -1):
        depth += (template[at : at + 1] == b">") - (template[at : at + 1] == b"<")
        if not depth:
            return not at
    return False


def _commas(inside: bytes) -> list[int] | None:
    """Return the commas at which hipify splits the configuration; None if its two methods differ or find no end."""
    round_, angles = 0, 0
    by_round: list[int] = []
    by_both: list[int] = []
    for match in _BRACKETS.finditer(inside):
        token, at = match.group(), match.start()
        if token in b"()":
            round_ += 1 if token == b"(" else -1
        elif token == b"<":
            angles += 1
        elif token == b">":
            angles -= inside[at - 1 : at] != b"-" and angles > 0
        elif token == b"," and not round_:
            by_round.append(at)
            by_both += [at] if not angles else []
    return by_both if by_round == by_both and not angles and not round_ else None


def _values(source: Cpp, project: Project, part: Span) -> int | None:
    """Return the number of values in a part of the configuration, which may be a macro; None if it is not unique.

    Several values stay several in `hipLaunchKernelGGL(…)`, which is a macro that passes on its arguments.
    """
    macros = project.component(source).fact(defined)
    directive = source.directive(part.start)
    counts: set[int | None] = set()
    for given in _given(source, project, directive, source[part]) if directive is not None else ((source[part],),):
        found = [_counted(macros, each) for each in given]
        counts.add(None if None in found else sum(each or 0 for each in found))
    return counts.pop() if len(counts) == 1 else None


def _given(source: Cpp, project: Project, directive: Span, part: bytes) -> Iterator[tuple[bytes, ...]]:
    """Yield the arguments for a part of a configuration at the uses of its macro; the part if it is not a parameter."""
    head = _PARAMETERS.match(source.code, directive.start, directive.end)
    parameters = [each.strip() for each in head["parameters"].split(b",")] if head else []
    rest = next((each for each in parameters if each.endswith(b"...")), b"")
    named = rest[:-3].strip() or b"__VA_ARGS__"
    if head is None or (part not in parameters and not (rest and part == named)):
        yield (part,)
        return
    first = len(parameters) - 1 if part == named else parameters.index(part)
    for other in (each for each in project.component(source) if isinstance(each, Cpp)):
        for span, _ in other.names({head["name"]}):
            given = other.given(span.end)
            if given is not None and other.directive(span.start) != directive:
                yield tuple(other[each] for each in (given[first:] if part == named else given[first : first + 1]))


def _counted(macros: Mapping[bytes, tuple[Macro, ...]], text: bytes) -> int | None:
    """Return the number of values in a text without commas, which may be a macro; None if it is not unique."""
    match = _MACRO_USE.fullmatch(text)
    if match is None or match["name"] not in macros:
        return 1
    given = calls(text, match["name"]) if match["given"] else [None]
    if given is None or len(given) != 1:
        return 1
    texts = expanded(match["name"], given[0], macros)
    # Commas in braces would split the argument of a macro.
    counts = {None if b"{" in each and b"," in each else 1 + _cut_in_macro(each) for each in texts}
    return counts.pop() if len(counts) == 1 else None


def _called(source: Cpp, launch: WrittenLaunch, more: int) -> list[Edit]:
    """Return the edits that turn the configuration of a launch into arguments of a macro.

    `more` is the number of values beyond one for each part.
    """
    code = source.code
    assert launch.arguments is not None
    blank = b"" if code[launch.opening.end : launch.opening.end + 1].isspace() else b" "
    edits = [Edit(launch.opening, b")," + blank)]
    for part in launch.configuration:
        if _cut_in_macro(code[part.start : part.end]):
            edits += [Edit(Span(part.start, part.start), b"("), Edit(Span(part.end, part.end), b")")]
    empty = not code[launch.arguments.start + 1 : launch.arguments.end - 1].strip(b" \t\r\n\\")
    missing = b", 0" * (4 - more - len(launch.configuration))
    edits.append(Edit(Span(launch.closing.start, launch.arguments.start + 1), missing + (b"" if empty else b", ")))
    return edits


def _cut_in_macro(part: bytes) -> int:
    """Return the number of commas that split a text which is one argument of a macro."""
    depth = found = 0
    for match in re.finditer(rb"[(),]", part):
        depth += (match.group() == b"(") - (match.group() == b")")
        found += match.group() == b"," and not depth
    return found


PASS = Pass(Cpp, find)
