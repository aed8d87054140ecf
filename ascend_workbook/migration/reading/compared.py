"""Small edits of comparisons: `a == "x"` as `a in ("x", "y")`, one more element of a tuple.

Only the operator and the constant are edited: what is asked keeps its own text, its brackets, and room for
edits of other rules inside it.
"""

from __future__ import annotations

import ast
import re

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.source import Source

WORDS = {ast.Eq: "in", ast.NotEq: "not in"}
#: The operator, or a comment that may hold one.
OPERATOR = re.compile(r"#[^\r\n]*|==|!=")
CLOSED = re.compile(r"#[^\r\n]*|[),]")


def in_both(source: Source, compare: ast.Compare, value: ast.expr, both: str) -> tuple[Edit, ...]:
    """Write `a == value` as `a in both`, whichever side the value stands on; none where the text is not what the tree
    says.

    Before Python 3.12 nodes inside an f-string carry wrong columns.
    """
    word = WORDS.get(type(compare.ops[0])) if len(compare.ops) == 1 else None
    left, right = compare.left, compare.comparators[0]
    (begun, end), (_, behind), (ahead, _) = source.span_of(compare), source.span_of(left), source.span_of(right)
    marks = OPERATOR.finditer(source.text, behind, ahead)
    mark = next((sign for sign in marks if sign.group() in ("==", "!=")), None)
    if word is None or mark is None or not _as_written(source, value):
        return ()
    if value is right:
        before = "" if source.text[mark.start() - 1].isspace() else " "
        after = "" if source.text[mark.end()].isspace() else " "
        start, stop = source.span_of(value)
        return (Edit(mark.start(), mark.end(), f"{before}{word}{after}"), Edit(start, stop, both))
    if "#" in source.text[begun : mark.start()]:
        return ()
    blanks = re.compile(r"[ \t]*").match(source.text, mark.end())
    assert blanks is not None
    return (Edit(begun, blanks.end(), ""), Edit(end, end, f" {word} {both}"))


def behind_last(source: Source, among: ast.Tuple | ast.List | ast.Set, text: str) -> tuple[Edit, ...]:
    """One more element behind the last, and behind brackets that the last stands in: `("a", ("b"))`."""
    start, end = source.span_of(among.elts[-1])[1], source.span_of(among)[1] - 1
    last = start
    for bracket_match in CLOSED.finditer(source.text, start, end):
        if bracket_match.group() == ",":
            break
        last = bracket_match.end() if bracket_match.group() == ")" else last
    return (Edit(last, last, f", {text}"),)


def _as_written(source: Source, value: ast.expr) -> bool:
    if not isinstance(value, ast.Constant):
        return True
    try:
        return bool(ast.literal_eval(source.text_of(value)) == value.value)
    except (ValueError, SyntaxError):
        return False
