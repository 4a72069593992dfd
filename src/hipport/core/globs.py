# SPDX-License-Identifier: Apache-2.0
"""Patterns of paths, with `*`, `?`, `[…]`, and `**` for any folders.

Matching never backtracks, so a pattern from a tree cannot make it slow. Each star ends at the first place where the
text after it fits. A later place is never needed, because the next star can skip the rest.
"""

from __future__ import annotations

import re


class Glob:
    """A pattern that matches whole paths with forward slashes."""

    def __init__(self, pattern: str) -> None:
        #: For each part between two `**`, the names of its folders and files, in order.
        self._rows: list[list[re.Pattern[str]]] = [[]]
        for name in pattern.split("/"):
            if name == "**":
                self._rows.append([])
            else:
                self._rows[-1].append(_name(name))
        # `a/**` matches all below `a`, but not `a` itself.
        self._some = pattern.split("/")[-1] == "**"

    def matches(self, path: str) -> bool:
        """Whether the pattern matches the whole of `path`."""
        names = path.split("/")
        first, *rest = self._rows
        if not rest:
            return len(names) == len(first) and _fits(first, names, 0)
        if len(names) < len(first) or not _fits(first, names, 0):
            return False
        at = len(first)
        *middle, last = rest
        for row in middle:
            while not (fits := _fits(row, names, at)) and at + len(row) < len(names):
                at += 1
            if not fits:
                return False
            at += len(row)
        end = len(names) - len(last)
        return (at < end if self._some else at <= end) and _fits(last, names, end)


def _fits(row: list[re.Pattern[str]], names: list[str], at: int) -> bool:
    return at + len(row) <= len(names) and all(
        pattern.fullmatch(name) for pattern, name in zip(row, names[at:], strict=False)
    )


def _name(pattern: str) -> re.Pattern[str]:
    """Return the regular expression that matches the name of one file or folder."""
    parts = [""]
    for token in re.findall(r"\*+|\?|\[[!^]?.[^\]]*\]|.", pattern, re.DOTALL):
        if token[0] == "*":
            parts.append("")
        elif token == "?":
            parts[-1] += "."
        elif len(token) > 1:
            negated = token[1] in "!^"
            chosen = re.sub(r"([\\\[\]^&~|])", r"\\\1", token[1 + negated : -1])
            try:
                re.compile(f"[{chosen}]")
            except re.error:  # a range in reverse order, `[z-a]`
                chosen = ""
            parts[-1] += (f"[^{chosen}]" if chosen else ".") if negated else f"[{chosen}]" if chosen else "(?!)"
        else:
            parts[-1] += re.escape(token)
    first, *rest = parts
    if not rest:
        return re.compile(first, re.DOTALL)
    # A lookahead does not backtrack into its match. Python 3.10 has no atomic groups.
    middle = "".join(f"(?=(?P<s{i}>.*?{part}))(?P=s{i})" for i, part in enumerate(rest[:-1]) if part)
    return re.compile(f"{first}{middle}.*{rest[-1]}", re.DOTALL)
