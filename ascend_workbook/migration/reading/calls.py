"""Small questions about calls and constants that several rules ask."""

from __future__ import annotations

import ast
import re

from ascend_workbook.findings.finding import Edit
from ascend_workbook.migration.reading.source import Import, Source

# Small edits of comparisons: `a == "x"` as `a in ("x", "y")`, one more element of a tuple.

WORDS = {ast.Eq: "in", ast.NotEq: "not in"}
#: The operator, or a comment that may hold one.
OPERATOR = re.compile(r"#[^\r\n]*|==|!=")
CLOSED = re.compile(r"#[^\r\n]*|[),]")


def in_both(source: Source, compare: ast.Compare, value: ast.expr, both: str) -> tuple[Edit, ...]:
    """Write `a == value` as `a in both`, whichever side it stands on; none where the text is not what the tree says."""
    word = WORDS.get(type(compare.ops[0])) if len(compare.ops) == 1 else None
    left, right = compare.left, compare.comparators[0]
    (begun, end), (_, behind), (ahead, _) = source.span_of(compare), source.span_of(left), source.span_of(right)
    marks = OPERATOR.finditer(source.text, behind, ahead)
    mark = next((sign for sign in marks if sign.group() in ("==", "!=")), None)
    if word is None or mark is None or not is_as_written(source, value):
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


def is_as_written(source: Source, value: ast.expr) -> bool:
    """Whether a constant's text is its value: before Python 3.12 nodes inside an f-string carry wrong columns."""
    if not isinstance(value, ast.Constant):
        return True
    try:
        return bool(ast.literal_eval(source.text_of(value)) == value.value)
    except (ValueError, SyntaxError):
        return False


# Words that stand in the code without being a value: Literal["cuda", "cpu"], and the names of an option.

#: What of an option is a value; the rest names it or is shown.
VALUES = {"default", "const", "choices"}


def only_names(source: Source, node: ast.AST) -> bool:
    """A word of a Literal type, or `dest`, `help` and the like of add_argument."""
    child = node
    for above in source.names.nodes_above(node):
        if isinstance(above, ast.Subscript):
            return getattr(above.value, "attr", getattr(above.value, "id", "")) == "Literal"
        if isinstance(above, ast.Call):
            called = getattr(above.func, "attr", getattr(above.func, "id", ""))
            named = child.arg if isinstance(child, ast.keyword) else None
            return called == "add_argument" and named not in VALUES
        if isinstance(above, ast.stmt):
            return False
        child = above
    return False


def find_argument(call: ast.Call, position: int, keyword: str = "") -> ast.expr | None:
    """Return the argument at a position or by keyword; None where it is not given or hidden behind a star."""
    if keyword:
        for pair in call.keywords:
            if pair.arg == keyword:
                return pair.value
    if len(call.args) <= position or any(isinstance(value, ast.Starred) for value in call.args[: position + 1]):
        return None
    return call.args[position]


def is_load(node: ast.AST) -> bool:
    """Return whether a name is read, not bound or deleted."""
    return isinstance(getattr(node, "ctx", None), ast.Load)


def method_name(call: ast.Call) -> str:
    """Return `to` of `x.to(...)`, or an empty string."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def string_value(node: ast.AST | None) -> str | None:
    """Return the value of a string constant."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def within_string(source: Source, node: ast.Constant, old: str, new: str) -> tuple[Edit, ...]:
    """Edits that replace the first `old` inside a string literal and leave its quotes and prefix alone."""
    start, end = source.span_of(node)
    text = source.text[start:end]
    body = text.lstrip("rRuUbBfF")
    at = text.find(old)
    if body[:1] not in ("'", '"') or at < 0:
        return ()
    return (Edit(start + at, start + at + len(old), new),)


def dynamic_module(source: Source, call: ast.Call) -> str:
    """Return the module of `importlib.import_module("...")` or `__import__("...")`; empty where it is none of them."""
    called = source.names.resolve_call(call) or getattr(call.func, "id", "")
    name = find_argument(call, 0, "name") if called in ("importlib.import_module", "__import__") else None
    return string_value(name) or ""


def list_modules(node: Import) -> list[str]:
    """The full names that an import names, `a` and `b` of `import a, b`, `a.b` of `from a import b`; none of `.a`."""
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    return [f"{node.module}.{name.name}" for name in node.names if not node.level and node.module]


def is_docstring(source: Source, node: ast.AST) -> bool:
    """A string that stands alone as a statement."""
    return isinstance(source.names.parent_of(node), ast.Expr)


def append_argument(source: Source, call: ast.Call, text: str) -> tuple[Edit, ...]:
    """One more argument behind the last; none where that stands in brackets of its own: `f((m))`."""
    values = (*call.args, *(pair.value for pair in call.keywords))
    last = max((source.span_of(value)[1] for value in values), default=None)
    _, end = source.span_of(call)
    if last is None:
        return (Edit(end - 1, end - 1, text),)
    return () if ")" in source.text[last : end - 1] else (Edit(last, last, f", {text}"),)
