# SPDX-License-Identifier: Apache-2.0
"""Shell scripts, Dockerfiles and Markdown: their commands, the places of words, and the conditions around them."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import ClassVar

from hipport.core.edits import Span
from hipport.core.group import Group
from hipport.core.source import Source

_BLANK = re.compile(rb"(?:[ \t]|\\\r?\n)+")
_END = re.compile(rb"&&|\|\||;;&?|;&|[;|&()]|\r?\n")
_REDIRECT = re.compile(rb"\d*(?:>>|>&|&>>?|<<<|<&|>\||[<>])")
_HEREDOC = re.compile(rb"<<(-?)[ \t]*(\\?[\w.-]+|'[^'\n]*'|\"[^\"\n]*\")")
_PIECE = re.compile(
    rb"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\\r?\n|\\.|\$\((?:[^()]|\([^()]*\))*\)|\$\{[^}]*\}|`[^`]*`|[^\s'\"\\`;|&()<>#]+|#|\$",
    re.DOTALL,
)
# Command substitution: "$(…)", `…`.
_SUBSTITUTED = re.compile(rb"\$\(((?:[^()]|\([^()]*\))*)\)|`([^`]*)`")
_COMMENT = re.compile(rb"#[^\r\n]*")
_ARRAY = re.compile(rb"[A-Za-z_]\w*\+?=")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_INSTRUCTION = re.compile(rb"[ \t]*([A-Za-z]+)(?=[ \t\\])")
_FLAGS = re.compile(rb"(?:[ \t]*--[a-z]+=\S+)*")
_FENCE = re.compile(rb"^[ \t>]*(?:```|~~~)[^\r\n]*\r?\n(.*?)^[ \t>]*(?:```|~~~)", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(rb"(?<!`)`([^`\r\n]+)`(?!`)")
_INDENTED = re.compile(rb"^(?:\t| {4,})([^\s-][^\r\n]*)", re.MULTILINE)
# Shells that take a script as an argument, and the option for it, perhaps among others: `bash -lc "…"`.
_SHELL = re.compile(r"(?:.*/)?(?:ba|da|z|a|k)?sh")
_SCRIPT_FOLLOWS = re.compile(r"-[a-z]*c")
# Programs that run the command after `run` in an environment, and those of their options that take a value.
_RUNNERS = frozenset("conda mamba micromamba poetry pipenv pdm hatch uv".split())
_RUNNERS_VALUES = frozenset("-n --name -p --prefix --cwd -e --env".split())
_PROMPT = re.compile(rb"[ \t]*(?:[$>%!]|\([\w.-]+\)[ \t]*\$?)[ \t]+|[ \t]*[!%](?=\w)")


@dataclass(frozen=True)
class Word:
    """A word of a command: its text without quotes, and its place with them."""

    text: str
    span: Span
    quote: str = ""
    #: whether `text` stands in the file unchanged, within at most one pair of quotes
    plain: bool = True
    #: the items of an array, `NAME=(…)`, whose `text` joins them by blanks
    items: tuple[Word, ...] = ()

    @property
    def start(self) -> int:
        """Where `text` starts."""
        return self.span.start + len(self.quote)


class ShellCondition:
    """The condition of a command, linked to those before it: of enclosing blocks, or of earlier branches.

    Each stores only its own text and caches the results of searches, so deep nesting costs no extra time.
    """

    def __init__(self, text: str, before: ShellCondition | None) -> None:
        self.text = text
        self.before = before
        self._known: dict[re.Pattern[str], bool] = {}

    def asks(self, pattern: re.Pattern[str]) -> bool:
        """Say whether a pattern is found in this condition or in one before it."""
        condition: ShellCondition | None = self
        passed = []
        found = False
        while condition is not None and not found:
            known = condition._known.get(pattern)
            if known is not None:
                found = known
                break
            found = pattern.search(condition.text) is not None
            passed.append(condition)
            condition = condition.before
        for each in passed:
            each._known[pattern] = found
        return found


@dataclass(frozen=True)
class Command:
    """A simple command: its words without the assignments before it, and its conditions.

    `under` has the conditions of all enclosing branches, and of one `if` or `case` also those of its earlier branches.
    A script that a shell runs (`bash -c "…"`), or a command that another program runs (`conda run -n env …`), appears
    as commands of its own.
    """

    words: tuple[Word, ...]
    assigned: tuple[Word, ...] = ()
    under: ShellCondition | None = None
    #: the quotes around the script that contains it; text put there must not contain them
    quotes: str = ""
    #: whether it is run by a program that accepts no assignments before it
    wrapped: bool = False
    #: whether its words are strings of a JSON list, which have to be edited one by one
    listed: bool = False

    def asks(self, pattern: re.Pattern[str]) -> bool:
        """Say whether a pattern is found in its conditions."""
        return self.under is not None and self.under.asks(pattern)

    @property
    def span(self) -> Span:
        """From the first word to the last, without assignments."""
        return Span(self.words[0].span.start, self.words[-1].span.end)


@dataclass(frozen=True)
class Shell(Source):
    """A shell script."""

    group: ClassVar[Group] = Group.BUILD
    parsed = ("_read",)

    @cached_property
    def _read(self) -> tuple[tuple[Command, ...], tuple[tuple[str, Span], ...]]:
        reader = _Reader(self.text, Span(0, len(self.text)))
        commands = tuple(reader.read())
        return commands, tuple(reader.written)

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands, in their order."""
        return self._read[0]

    @property
    def written(self) -> tuple[tuple[str, Span], ...]:
        """The files that it writes from heredocs that are not scripts, and the texts of these."""
        return self._read[1]


@dataclass(frozen=True)
class DockerInstruction:
    """An instruction of a Dockerfile; `words` follow its name."""

    name: str
    span: Span
    words: tuple[Word, ...]
    commands: tuple[Command, ...] = ()


@dataclass(frozen=True)
class Dockerfile(Source):
    """A Dockerfile."""

    parsed = ("instructions",)

    @cached_property
    def instructions(self) -> tuple[DockerInstruction, ...]:
        """The instructions, in their order."""
        return tuple(self._instructions())

    def _instructions(self) -> Iterator[DockerInstruction]:
        at = self.beginning
        while at < len(self.text):
            end = self._line_end(at)
            match = _INSTRUCTION.match(self.text, at)
            if match is None or self.text[at:end].lstrip().startswith(b"#"):
                at = end
                continue
            while self.text[at:end].rstrip().endswith(b"\\") and end < len(self.text):
                end = self._line_end(end)
                # Comments and empty lines do not end a continued instruction.
                while end < len(self.text) and re.match(
                    rb"[ \t]*(?:#[^\n]*)?\r?\n", self.text[self._line_start(end) : end]
                ):
                    end = self._line_end(end)
            name = match[1].decode().upper()
            span = Span(match.start(1), at + len(self.text[at:end].rstrip()))
            flags = _FLAGS.match(self.text, match.end())
            assert flags is not None
            inside = Span(flags.end(), span.end)
            at = end
            commands = tuple(self._listed(inside) or _Reader(self.text, inside, lines=False).read())
            if name in ("RUN", "COPY", "ADD") and (bodies := list(self._heredocs(inside, end))):
                at = span_end = bodies[-1].end
                span = Span(span.start, span.start + len(self.text[span.start : span_end].rstrip()))
                # A heredoc is a file, or a script for the shell, or for a program that the instruction names.
                scripts = name == "RUN" and all(_SHELL.fullmatch(each.words[0].text) for each in commands)
                commands += tuple(command for body in bodies if scripts for command in _Reader(self.text, body).read())
            words = tuple(word for each in commands for word in (*each.assigned, *each.words)) if name != "RUN" else ()
            yield DockerInstruction(name, span, words, commands if name == "RUN" else ())

    def _listed(self, inside: Span) -> list[Command]:
        """Return the commands of a shell script in an instruction that is a JSON list: `["bash", "-c", "…"]`."""
        text = self.text[inside.start : inside.end].strip()
        try:
            words = json.loads(text) if text.startswith(b"[") else None
        except ValueError:
            return []
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words) or len(words) < 2:
            return []
        script = words[-1].encode()
        at = self.text.find(b'"' + script + b'"', inside.start, inside.end) + 1
        if not (at and _SHELL.fullmatch(words[0]) and _SCRIPT_FOLLOWS.fullmatch(words[-2])):
            # A program with its arguments: `["pip", "install", "torch"]`.
            found = list(re.finditer(rb'"([^"\\]*)"', self.text[inside.start : inside.end]))
            if [each[1].decode("utf-8", "replace") for each in found] != words:
                return []
            spans = [Span(inside.start + each.start(), inside.start + each.end()) for each in found]
            parts = tuple(Word(word, span, '"') for word, span in zip(words, spans, strict=True))
            return [Command(parts, quotes='"', listed=True)]
        inner = _Reader(self.text, Span(at, at + len(script))).read()
        return [replace(each, quotes='"' + each.quotes) for each in inner]

    def _heredocs(self, inside: Span, at: int) -> Iterator[Span]:
        """Yield the heredocs after an instruction, which are files or scripts."""
        for match in _HEREDOC.finditer(self.text, inside.start, inside.end):
            body, at = _heredoc(self.text, at, len(self.text), match[1] == b"-", match[2].strip(b"'\"\\"))
            yield Span(body.start, at)

    def _line_end(self, at: int) -> int:
        end = self.text.find(b"\n", at)
        return len(self.text) if end < 0 else end + 1

    def _line_start(self, end: int) -> int:
        return self.text.rfind(b"\n", 0, end - 1) + 1

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands that it runs."""
        return tuple(command for each in self.instructions for command in each.commands)


_SECTION = re.compile(rb"^%(?P<name>[a-z]+)(?P<rest>[^\r\n]*)", re.MULTILINE)
_HEADER = re.compile(
    rb"^[ \t]*(?P<key>[A-Za-z]+)[ \t]*:[ \t]*(?P<value>[^\r\n#]*?)[ \t]*(?:#[^\r\n]*)?\r?$", re.MULTILINE
)
_BOOTSTRAP = re.compile(rb"^[ \t]*bootstrap[ \t]*:", re.IGNORECASE | re.MULTILINE)
#: The sections of a definition file that are scripts (apptainer.org, "Definition Files").
_SCRIPTS = frozenset(b"setup post environment runscript startscript test pre appinstall appenv apprun apptest".split())


@dataclass(frozen=True)
class Definition(Source):
    """A definition file of Singularity or Apptainer: a header for each stage, and sections, most of them scripts."""

    @cached_property
    def _sections(self) -> tuple[tuple[bytes, Span], ...]:
        found = list(_SECTION.finditer(self.text))
        ends = [*(match.start() for match in found[1:]), len(self.text)]
        return tuple((match["name"], Span(match.end(), end)) for match, end in zip(found, ends, strict=False))

    @cached_property
    def headers(self) -> tuple[tuple[str, Word], ...]:
        """The headers: a key in lower case, and its value."""
        scripts = [span for _, span in self._sections]
        found = []
        for match in _HEADER.finditer(self.text):
            # The header of a stage follows the sections of the stage before, and seems to lie in the last of them.
            inside = next((span for span in scripts if span.start <= match.start() < span.end), None)
            if inside is None or _BOOTSTRAP.search(self.text, inside.start, match.end()):
                text = match["value"].decode("utf-8", "replace")
                found.append((match["key"].decode().lower(), Word(text, Span(*match.span("value")))))
        return tuple(found)

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The commands of the sections that are scripts, in order."""
        return tuple(
            command for name, span in self._sections if name in _SCRIPTS for command in commands_in(self.text, span)
        )


@dataclass(frozen=True)
class Markdown(Source):
    """A text in Markdown, or a similar format."""

    group: ClassVar[Group] = Group.DOCUMENTS

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The commands in text that is set as code, on lines that install something."""
        found: list[Command] = []
        taken: list[Span] = []
        for pattern in (_FENCE, _INLINE, _INDENTED):
            # Matches of one pattern do not overlap, so only those of the patterns before may contain one.
            starts = [each.start for each in taken]
            ends = list(accumulate((each.end for each in taken), max))
            for match in pattern.finditer(self.text):
                span = Span(*match.span(1))
                before = bisect_right(starts, span.start)
                if before and span.start < ends[before - 1]:
                    continue
                taken.append(span)
                found += _in_lines(self.text, span)
            taken.sort(key=lambda each: each.start)
        return tuple(sorted(found, key=lambda each: each.span.start))


def settings(words: Sequence[Word]) -> Iterator[tuple[str, str, Span]]:
    """Yield variables, their values, and the words that set them: `NAME=value` for each, or one `NAME value`."""
    if words and "=" not in words[0].text:
        if len(words) > 1:
            value = " ".join(word.text for word in words[1:])
            yield words[0].text, value, Span(words[0].span.start, words[-1].span.end)
        return
    for word in words:
        name, equals, value = word.text.partition("=")
        if equals:
            yield name, value, word.span


def commands_in(text: bytes, span: Span) -> tuple[Command, ...]:
    """Return the commands in a part of a text that is a script."""
    return tuple(_Reader(text, span).read())


def _in_lines(text: bytes, span: Span) -> Iterator[Command]:
    """Read each line by itself, after its prompt: the lines around it are not always a script."""
    at = span.start
    while at < span.end:
        end = at
        while True:
            stop = text.find(b"\n", end, span.end)
            end = span.end if stop < 0 else stop + 1
            if stop < 0 or not text[at:stop].rstrip(b"\r").endswith(b"\\"):
                break
        prompt = _PROMPT.match(text, at, end)
        if b"install" in text[at:end]:
            yield from _Reader(text, Span(prompt.end() if prompt else at, end)).read()
        at = end


class _Reader:
    """One reading of the commands in a part of a text."""

    def __init__(self, text: bytes, span: Span, *, lines: bool = True, under: ShellCondition | None = None) -> None:
        self.text, self.at, self.end = text, span.start, span.end
        self.lines = lines  # whether a line's end ends a command
        self.outer = under  # the conditions around the text
        self.frames: list[
            ShellCondition | None
        ] = []  # for each enclosing `if` and `case`: the conditions of its branches, the last first
        self.asking = False  # whether a condition is being read
        self.heredocs: list[tuple[bool, bytes]] = []
        self.target = ""  # the file that the output of a command goes to
        self.writes = ""  # the file that the heredoc after the line goes to
        self.written: list[tuple[str, Span]] = []
        self.runs_heredoc = False  # whether the heredoc after the line is run, or written to a script
        self.substituted: list[tuple[Span, str]] = []  # scripts in the words of a command, and their quotes

    def read(self) -> Iterator[Command]:  # noqa: C901  # one loop over tokens
        words: list[Word] = []
        expects_pattern = False
        while True:
            blank = _BLANK.match(self.text, self.at, self.end)
            if blank:
                self.at = blank.end()
            if self.at >= self.end:
                break
            comment = _COMMENT.match(self.text, self.at, self.end)
            if comment:
                self.at = comment.end()
                continue
            end = _END.match(self.text, self.at, self.end)
            if end and not self.lines and end.group().endswith(b"\n"):
                self.at = end.end()
                continue
            if end:
                if expects_pattern and end.group() == b")":
                    if self.frames:
                        self._ask(words)
                    expects_pattern, words = False, []
                else:
                    if not (expects_pattern and end.group() in (b"(", b"|")):
                        yield from self._command(words)
                        words = []
                    if end.group().startswith(b";;") and self.frames:
                        expects_pattern = True
                self.at = end.end()
                if end.group().endswith(b"\n"):
                    yield from self._heredocs_read()
                continue
            heredoc = _HEREDOC.match(self.text, self.at, self.end)
            if heredoc and not self.text.startswith(b"<<<", self.at):
                self.heredocs.append((heredoc[1] == b"-", heredoc[2].strip(b"'\"\\")))
                self.at = heredoc.end()
                continue
            redirect = _REDIRECT.match(self.text, self.at, self.end)
            if redirect:
                self.at = redirect.end()
                space = _BLANK.match(self.text, self.at, self.end)
                self.at = space.end() if space else self.at
                target = self._word()
                self.target = target.text if target is not None and b">" in redirect.group() else self.target
                continue
            word = self._word()
            if word is None:
                self.at += 1
                continue
            if not words and self._keyword(word.text):
                if word.text == "esac":
                    expects_pattern = False
                continue
            words.append(word)
            if word.text == "in" and words[0].text == "case":
                self.frames.append(self._under)
                self._ask(words[1:-1])
                expects_pattern, words = True, []
        yield from self._command(words)

    @property
    def _under(self) -> ShellCondition | None:
        return self.frames[-1] if self.frames else self.outer

    def _ask(self, words: Sequence[Word]) -> None:
        """Record the condition of a branch of the innermost `if` or `case`."""
        if words:
            self.frames[-1] = ShellCondition(" ".join(word.text for word in words), self.frames[-1])

    def _keyword(self, text: str) -> bool:
        """Handle a reserved word at the start of a command."""
        if text == "if":
            self.frames.append(self._under)
            self.asking = True
        elif text == "elif" and self.frames:
            self.asking = True
        elif text in ("then", "else"):
            self.asking = False
        elif text in ("fi", "esac"):
            if self.frames:
                self.frames.pop()
        elif text not in ("do", "done", "while", "until", "{", "}", "!", "time", "exec", "sudo", "command"):
            return False
        return True

    def _command(self, words: list[Word]) -> Iterator[Command]:
        if self.asking and self.frames:
            self._ask(words)
        inside, self.substituted = self.substituted, []
        if self.heredocs and words:
            given = [word.text for word in words if not _ASSIGNMENT.match(word.text)]
            self.runs_heredoc |= _takes_script(given, self.target)
            if given[:1] in (["cat"], ["tee"]):
                named = [word for word in given[1:] if not word.startswith("-")] if given[0] == "tee" else []
                self.writes = "".join(named[:1]) or self.target
        self.target = ""
        if words:
            yield from self._simple(words)
        for span, quotes in inside:
            for each in _Reader(self.text, span, under=self._under).read():
                yield replace(each, quotes=quotes + each.quotes)

    def _simple(self, words: list[Word]) -> Iterator[Command]:
        count = next((n for n, word in enumerate(words) if not _ASSIGNMENT.match(word.text)), len(words))
        under = self._under
        # An assignment by itself becomes a command of that one word.
        if count == len(words):
            yield Command(tuple(words), (), under)
            return
        run = words[count:]
        script = _script(run)
        if script is None:
            behind = _behind_runner(run)
            yield Command(tuple(run[behind:]), tuple(words[:count]), under, wrapped=behind > 0)
            return
        inside = Span(script.start, script.span.end - len(script.quote))
        for each in _Reader(self.text, inside, under=under).read():
            yield replace(each, quotes=script.quote + each.quotes)

    def _word(self) -> Word | None:
        start = self.at
        pieces: list[bytes] = []
        while self.at < self.end:
            match = _PIECE.match(self.text, self.at, self.end)
            if match is None or (match.group() == b"#" and not pieces):
                break
            pieces.append(match.group())
            self.at = match.end()
            if match.group()[:1] in (b'"', b"`", b"$"):
                quote = match.group()[:1].decode().strip("$")
                self.substituted += [
                    (Span(*each.span(each.lastindex or 0)), quote)
                    for each in _SUBSTITUTED.finditer(self.text, match.start(), match.end())
                ]
        if not pieces:
            return None
        if _ARRAY.fullmatch(b"".join(pieces)) and self.text.startswith(b"(", self.at):
            items = tuple(self._items())
            name = b"".join(pieces).decode()
            text = name + " ".join(item.text for item in items)
            return Word(text, Span(start, self.at), plain=False, items=items)
        span = Span(start, self.at)
        whole = b"".join(pieces)
        text = b"".join(_unquoted(piece) for piece in pieces).decode("utf-8", "replace")
        quote = whole[:1].decode() if len(pieces) == 1 and whole[:1] in (b"'", b'"') else ""
        inner = whole[len(quote) : len(whole) - len(quote)]
        return Word(text, span, quote, inner.decode("utf-8", "replace") == text)

    def _items(self) -> Iterator[Word]:
        """Yield the words of an array, up to its bracket."""
        self.at += 1
        while self.at < self.end and self.text[self.at : self.at + 1] != b")":
            between = _BLANK.match(self.text, self.at, self.end) or _COMMENT.match(self.text, self.at, self.end)
            word = None if between else self._word()
            if word is not None:
                yield word
            else:
                self.at = between.end() if between else self.at + 1
        self.at = min(self.at + 1, self.end)

    def _heredocs_read(self) -> Iterator[Command]:
        """Skip the heredocs of the commands on a line, and yield the commands in those that are scripts."""
        for tabs, word in self.heredocs:
            body, self.at = _heredoc(self.text, self.at, self.end, tabs, word)
            if self.runs_heredoc:
                yield from _Reader(self.text, body, under=self._under).read()
            if self.writes and not self.runs_heredoc:
                self.written.append((self.writes, body))
        self.heredocs.clear()
        self.runs_heredoc, self.writes = False, ""


def _heredoc(text: bytes, at: int, end: int, tabs: bool, word: bytes) -> tuple[Span, int]:
    """Return the contents of a heredoc, and the place after the word that ends it."""
    start = at
    while at < end:
        stop = text.find(b"\n", at, end)
        stop = end if stop < 0 else stop
        line = text[at:stop].rstrip(b"\r")
        if (line.lstrip(b"\t") if tabs else line) == word:
            return Span(start, at), min(stop + 1, end)
        at = min(stop + 1, end)
    return Span(start, at), at


def _takes_script(words: Sequence[str], target: str) -> bool:
    """Say whether a command runs the heredoc that it is given, or writes it to a script."""
    if not words:
        return False
    if words[0] in ("cat", "tee"):
        return any(re.fullmatch(r".+\.(?:sh|bash)", each) for each in (target, *words[1:]))
    if words[0] in ("ssh", "su", "runuser") or words[0:2] == ["docker", "exec"]:
        return True
    return _SHELL.fullmatch(words[0]) is not None and all(word.startswith("-") for word in words[1:])


def _script(words: Sequence[Word]) -> Word | None:
    """Return the script that a shell is given as an argument, if it stands in the file unchanged."""
    if words[0].text == "eval" and len(words) == 2:
        return words[1] if words[1].quote and words[1].plain else None
    if not _SHELL.fullmatch(words[0].text):
        return None
    for option, word in pairwise(words[1:]):
        if _SCRIPT_FOLLOWS.fullmatch(option.text):
            return word if word.quote and word.plain else None
        if not option.text.startswith("-") and option.text != "pipefail":
            break
    return None


def _behind_runner(words: Sequence[Word]) -> int:
    """Return the number of words before a command that a program runs in an environment, 0 without such a program."""
    if words[0].text.rpartition("/")[2] not in _RUNNERS or len(words) < 3 or words[1].text != "run":
        return 0
    at = 2
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in _RUNNERS_VALUES else 1
    return at if at < len(words) else 0


def _unquoted(piece: bytes) -> bytes:
    if piece[:1] == b"'":
        return piece[1:-1]
    if piece[:1] == b'"':
        return re.sub(rb"\\([\"\\$`])", rb"\1", piece[1:-1])
    if piece[:1] == b"\\":
        return b"" if piece[-1:] == b"\n" else piece[1:]
    return piece
