"""A shell script as commands and words, as far as it can be read without running it: quotes, comments, joined lines.

Expansions stay in the words as they are written; `Words.expand` puts variables in their place. What only a shell
can tell (the output of a command, a pattern of file names) raises NotPlain.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

#: Operators that end a command, the longest first.
ENDS = ("&&", "||", ";;", "\n", ";", "|", "&", "(", ")")
REDIRECTION = re.compile(r"(?:\d[\d\v]*)?(?:>>|>&|<&|<<<|&>>?|>|<)[ \t\v]*")
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
VARIABLE = re.compile(r"\$(?:\{(?P<long>[^{}]*)\}|(?P<short>[A-Za-z_]\w*|[0-9@*#?$!-]))")
LONG = re.compile(r"(?P<name>[A-Za-z_]\w*|[0-9]+|[@*])(?:\[[@*]\])?(?:(?P<how>:?[-=])(?P<value>.*))?$", re.DOTALL)
#: The folder of the script itself, with what follows it: $(dirname "$0")/.., $(cd "$(dirname "$0")/.." && pwd).
OWN_FOLDER = re.compile(
    r"\$\((?:cd\s+)?(?:--\s+)?[\"']?\$?\(?\s*dirname\s+(?:--\s+)?[\"']?(?:\$\((?:readlink\s+-f|realpath)\s+)?"
    r"[\"']?\$(?:0|\{0\}|BASH_SOURCE|\{BASH_SOURCE(?:\[0\])?(?::-\$0)?\})[\"')]*\s*\)?"
    r"(?P<below>[/.\w-]*)[\"']?\s*(?:>\s*/dev/null\s*)?(?:2>&1\s*)?(?:&&\s*pwd(?:\s+-P)?\s*)?\)+"
)
FUNCTIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}


class NotPlain(Exception):
    """What cannot be told without running the shell; the text is what stands there."""


@dataclass(frozen=True)
class Part:
    """A piece of a word. `plain`: nothing in it is expanded; `quoted`: what it becomes is one word."""

    text: str
    plain: bool
    quoted: bool


Word = tuple[Part, ...]


@dataclass
class Command:
    """One simple command: `end` is the operator behind it, `before` the one before."""

    line: int
    before: str
    words: list[Word] = field(default_factory=list)
    end: str = "\n"
    source: str = ""


@dataclass
class Variables:
    """What is set so far: a name has one value or several (an array), or only the shell knows it (None)."""

    own_folder: str
    arguments: Sequence[str]
    outside: Mapping[str, str]
    values: dict[str, list[str] | None] = field(default_factory=dict)

    def look_up(self, name: str, reference: str) -> list[str]:
        """Return a variable's values. Raises NotPlain where it is not set, or in a way that only the shell knows."""
        if name in ("@", "*"):
            return list(self.arguments)
        if name.isdigit():
            at = int(name)
            if at and at <= len(self.arguments):
                return [self.arguments[at - 1]]
            raise NotPlain(reference)
        value = self.values[name] if name in self.values else [self.outside[name]] if name in self.outside else None
        if value is None:
            raise NotPlain(reference)
        return value

    def is_set(self, name: str) -> bool:
        if name.isdigit():
            return 0 < int(name) <= len(self.arguments)
        return name in ("@", "*") or name in self.values or name in self.outside


def parse_commands(text: str) -> Iterator[Command]:
    """The simple commands of a script in order. A text that ends within quotes gives what stands before them."""
    text = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n", "\\1\v", text)  # lines that a backslash joins still count
    line, at, before = 1, 0, "\n"
    command = Command(1, before)
    begun = 0
    while at < len(text):
        letter = text[at]
        end = next((sign for sign in ENDS if text.startswith(sign, at)), "")
        heredoc = HEREDOC.match(text, at)
        redirection = REDIRECTION.match(text, at)
        if letter == "#" and (at == 0 or text[at - 1] in " \t\n;\v("):
            stop = _line_end(text, at)
            if (joined := text.find("\v", at, stop)) > 0:  # the backslash that ends a comment joins nothing
                text, stop = f"{text[:joined]}\n{text[joined + 1 :]}", joined
            at = stop
        elif heredoc and not text.startswith("<<<", at):
            body = _line_end(text, at)
            begins = r"(?<=[\n\v])" if heredoc.group(1) else r"(?<=\n)"  # where it is quoted, a backslash joins nothing
            close = re.compile(rf"{begins}[ \t\v]*{heredoc.group(2)}[ \t]*$", re.MULTILINE).search(text, body)
            stop = close.end() if close else len(text)
            text = text[:at] + " " * (heredoc.end() - at) + text[heredoc.end() :]
            text = text[:body] + re.sub(r"[^\n\v]", " ", text[body:stop]).replace("\n", "\v") + text[stop:]
        elif redirection and (not command.words or text[at - 1] in " \t\v" or not letter.isdigit()):
            begin, at = at, redirection.end()
            if at < len(text) and text[at] not in "\n;|&":
                at = _parse_word(text, at)[1]
            line += text[begin:at].count("\n") + text[begin:at].count("\v")
        elif end:
            if command.words:
                command.end, command.source = end, " ".join(text[begun:at].replace("\v", "").split())
                yield command
            before = end
            line += end == "\n"
            at += len(end)
            command = Command(line, before)
        elif letter in " \t\r\v":
            line += letter == "\v"
            at += 1
        else:
            if not command.words:
                command.line, begun = line, at
            word, stop = _parse_word(text, at)
            if word is None:
                return
            command.words.append(word)
            line += text[at:stop].count("\n") + text[at:stop].count("\v")
            at = stop
    if command.words:
        command.source = " ".join(text[begun:].replace("\v", "").split())
        yield command


def plain_text(word: Word) -> str:
    """A word as it is written, without its quotes."""
    return "".join(part.text for part in word)


def expand_word(word: Word, known: Variables) -> list[str]:
    """The words that a word becomes: one, or several where an unquoted variable holds blanks. Raises NotPlain."""
    expanded_words: list[str] = [""]
    any_quoted = False
    for part in word:
        pieces = [part.text] if part.plain else _expand_part(part, known)
        if not pieces:
            continue  # "$@" of nothing is no word
        any_quoted = any_quoted or part.quoted
        expanded_words[-1] += pieces[0]
        expanded_words += pieces[1:]
    return [text for text in expanded_words if text or any_quoted]


def _expand_part(part: Part, known: Variables) -> list[str]:
    if "\\$" in part.text or "\\`" in part.text:  # a sign that stays as it is, among such that do not
        raise NotPlain(part.text)
    text = OWN_FOLDER.sub(lambda match: known.own_folder + match.group("below"), part.text)
    text = re.sub(r"\$\(pwd\)|`pwd`|\$\{?PWD\}?(?!\w)", ".", text)
    text = re.sub(r"\$\(\((.*?)\)\)", lambda match: _compute_number(match.group(1), known), text)
    if "$(" in text or "`" in text:
        raise NotPlain(part.text.strip())
    if not part.quoted and re.search(r"[*?]|\{[^{}]*,[^{}]*\}", VARIABLE.sub("", text)):
        raise NotPlain(part.text)
    expanded_words, last = [""], 0
    for match in VARIABLE.finditer(text):
        expanded_words[-1] += text[last : match.start()]
        values = _value_of_variable(match, known)
        array = "@" in match.group()
        values = values if part.quoted else [piece for value in values for piece in value.split()]
        if part.quoted and not array:
            values = [" ".join(values)]
        if values:
            expanded_words = [*expanded_words[:-1], expanded_words[-1] + values[0], *values[1:]]
        last = match.end()
    expanded_words[-1] += text[last:]
    return [] if expanded_words == [""] and "@" in text else expanded_words


def _value_of_variable(match: re.Match[str], known: Variables) -> list[str]:
    reference = match.group()
    name = match.group("short")
    if name:
        return known.look_up(name, reference)
    long = LONG.match(match.group("long") or "")
    if long is None:
        raise NotPlain(reference)
    name, how = long.group("name"), long.group("how") or ""
    is_set = known.is_set(name) and not (how.startswith(":") and not any(known.look_up(name, reference)))
    if how and not is_set:
        return expand_word((Part(long.group("value").strip("\"'"), False, True),), known)
    return known.look_up(name, reference)


def _compute_number(text: str, known: Variables) -> str:
    """`$((NODES * 8))`: sums and products of whole numbers."""
    named = re.sub(r"(?<![\w$])([A-Za-z_]\w*)", r"$\1", text)
    plain_text = " ".join(_expand_part(Part(named, False, True), known))
    try:
        return str(_evaluate_node(ast.parse(plain_text.replace("/", "//").strip(), mode="eval").body))
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError) as cause:
        raise NotPlain(f"$(({text}))") from cause


def _evaluate_node(node: ast.AST) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 10**9:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in FUNCTIONS:
        left, right = _evaluate_node(node.left), _evaluate_node(node.right)
        return int(FUNCTIONS[type(node.op)](left, right))
    raise ValueError(type(node).__name__)


def _parse_word(text: str, at: int) -> tuple[Word | None, int]:
    """The word that begins here and where it ends; None where a quote is not closed."""
    parts: list[Part] = []
    while at < len(text) and text[at] not in " \t\r\n;|&<>)" and (text[at] != "(" or text[at - 1] == "="):
        letter = text[at]
        if letter == "\v":  # joined to what stands on the next line
            at += 1
        elif letter == "'":
            close = text.find("'", at + 1)
            if close < 0:
                return None, at
            parts.append(Part(text[at + 1 : close].replace("\v", "\\\n"), True, True))
            at = close + 1
        elif letter == '"':
            close = _closing_quote(text, at + 1)
            if close < 0:
                return None, at
            body = text[at + 1 : close].replace("\v", "")
            parts.append(Part(re.sub(r'\\(["\\])', r"\1", body), False, True))
            at = close + 1
        elif letter == "\\":
            parts.append(Part(text[at + 1 : at + 2], True, True))
            at += 2
        elif letter in "$`(":
            stop = _expansion_end(text, at)
            parts.append(Part(text[at:stop].replace("\v", ""), False, False))
            at = stop
        else:
            stop = at + 1
            while stop < len(text) and text[stop] not in " \t\r\n\v;|&<>'\"\\$`()":
                stop += 1
            parts.append(Part(text[at:stop], False, False))
            at = stop
    return tuple(parts), at


def _expansion_end(text: str, at: int) -> int:
    """Where `$name`, `${...}`, `$(...)`, a `...` in back quotes or an array's brackets end."""
    if text[at] == "`":
        close = text.find("`", at + 1)
        return close + 1 if close > 0 else len(text)
    if text.startswith("${", at):
        close = text.find("}", at)
        return close + 1 if close > 0 else len(text)
    if text.startswith("$(", at) or text[at] == "(":
        return _bracket_end(text, at + (text[at] == "$"))
    match = VARIABLE.match(text, at)
    return match.end() if match else at + 1


def _bracket_end(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        if text[at] in "'\"":
            close = text.find("'", at + 1) if text[at] == "'" else _closing_quote(text, at + 1)
            at = close if close > 0 else len(text)
        elif text[at] in "()":
            depth += 1 if text[at] == "(" else -1
            if not depth:
                return at + 1
        at += 1
    return len(text)


def _closing_quote(text: str, at: int) -> int:
    while at < len(text) and text[at] != '"':
        if text[at] == "\\":
            at += 2
        elif text.startswith("$(", at):
            at = _bracket_end(text, at + 1)
        else:
            at += 1
    return at if at < len(text) else -1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)
