"""The commands of a shell script that launch a training, with the variables that the script sets for them.

The script is read, not run: a command below an `if` or in a loop, one that another program starts, and one with a word
that only the shell can tell are found, but are not plain.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.migration.texts.shell_words import (
    Command,
    NotPlain,
    Variables,
    Word,
    expand_word,
    parse_commands,
    plain_text,
)

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=")
OPENS = {"if", "for", "while", "until", "case", "select", "{"}
CLOSES = {"fi", "done", "esac", "}"}
#: `((N+=1))`, not `$((N+1))`: reckons with variables in a way that is not followed here.
ARITHMETIC = re.compile(r"(?<!\$)\(\(")
#: What a shell writes out where it stands without quotes: a home folder, `{1..3}`, `{a,b}`.
WRITTEN_OUT = re.compile(r"~|[^{]*\{[^{}]*(?:,|\.\.)[^{}]*\}")
BETWEEN = {"then", "do", "else", "elif", "in", "!"}
TESTS = {"[", "[[", "test"}
DECLARES = {"export", "declare", "local", "readonly", "typeset"}
#: Change arguments or variables in a way that is not followed here.
LOSES = {"shift", "unset", "source", ".", "read", "eval", "let", "mapfile", "readarray", "getopts"}
#: Stand before a command and change nothing of it; with how many words of their own.
BEFORE = {"nohup": 0, "time": 0, "exec": 0, "env": 0, "stdbuf": 1, "nice": 0, "unbuffer": 0}
#: Start a training in a way of their own.
STARTERS = re.compile(r"(?:deepspeed|srun|mpirun|mpiexec|horovodrun|colossalai|composer|bsub|sbatch)$")
PYTHON = re.compile(r"python[\d.]*$")
#: Modules and scripts that train nothing.
TOOLS = re.compile(
    r"(?:pip|venv|ensurepip|json\.tool|pytest|unittest|http\.server|build|compileall|nltk\..*)$|.*setup\.py$"
)
SHELLS = re.compile(r"(?:ba|z|da)?sh$|source$|\.$")


@dataclass(frozen=True)
class Launch:
    """A launch command. `words` are expanded, and empty where `why` says that it is not plain.

    `folder` is the one that `cd` led to, as a path from where the shell script was started; None: not to be told.
    `environment` holds what the script exports for it, `unknown` the names whose values only a shell can tell."""

    line: int
    source: str
    words: tuple[str, ...] = ()
    why: Scalar | None = None
    folder: str | None = "."
    environment: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


@dataclass
class _Shell:
    """What a shell would know at a command. `depth`: how many conditions and loops it stands in."""

    variables: Variables
    depth: int = 0
    exported: set[str] = field(default_factory=set)
    folder: str | None = "."
    #: The command after which variables and arguments are no longer known.
    lost: str = ""
    #: An `exit` stands above: what follows is not run.
    ended: bool = False


def find_launches(text: str, own_folder: str, arguments: Sequence[str], outside: Mapping[str, str]) -> list[Launch]:
    """Find the launches of a script, with its own `arguments`; `own_folder` as seen from where it is started."""
    shell = _Shell(Variables(own_folder, arguments, outside))
    script_launches: list[Launch] = []
    outer: list[_Shell] = []
    reckoned = next((at for at, line in enumerate(text.split("\n"), 1) if ARITHMETIC.search(line)), None)
    tested = False
    for command in parse_commands(text):
        if command.before == "(":
            outer.append(deepcopy(shell))
        if reckoned and command.line >= reckoned and not shell.lost:
            shell.lost = "(("
        words = _enter_command(shell, command)
        tested = command.before in ("&&", "||") and tested
        while words and (plain_text(words[0]) in BETWEEN):
            words = words[1:]
        script_launches += _read_command(
            shell, command, words, conditional=shell.depth > 0 or tested or command.before == "||"
        )
        tested = tested or bool(words) and plain_text(words[0]) in TESTS
        if command.end == ")" and outer:  # what a subshell sets ends with it
            shell = replace(outer.pop(), lost=shell.lost)
    return script_launches


def other_scripts(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of commands that run another shell script."""
    for command in parse_commands(text):
        names = [plain_text(word) for word in command.words]
        if names and (SHELLS.match(names[0]) and names[1:] or names[0].endswith(".sh")):
            yield command.line, command.source


def _enter_command(shell: _Shell, command: Command) -> list[Word]:
    """Notes where a condition, loop or function begins and ends; the command's words without those."""
    words = list(command.words)
    if command.end == "(" and len(words) == 1 or words and plain_text(words[0]) == "function":
        shell.depth += "{" in map(plain_text, words)
        return []  # a function's name; its body is in braces
    if command.before == "(" or command.end == ")":
        return words
    while words and plain_text(words[0]) in OPENS | CLOSES | BETWEEN:
        name = plain_text(words[0])
        shell.depth = max(0, shell.depth + (name in OPENS) - (name in CLOSES))
        if name in ("for", "select") and len(words) > 1:
            shell.variables.values[plain_text(words[1])] = None
        words = [] if name in ("for", "case", "select") else words[1:]
    return words


def _read_command(shell: _Shell, command: Command, words: list[Word], *, conditional: bool) -> Iterator[Launch]:
    if not words:
        return
    at = 0
    while at < len(words) and ASSIGNMENT.match(words[at][0].text) and not words[at][0].quoted:
        at += 1
    prefix, rest = words[:at], words[at:]
    name = plain_text(rest[0]) if rest else ""
    if _loses_variables(name, [plain_text(word) for word in rest[1:]]):
        shell.lost = command.source
        if name == "unset":
            shell.exported -= {plain_text(word) for word in rest[1:]}
    conditional_value = conditional or command.before == "&&"  # set only where what stands before it succeeds
    shell.ended = shell.ended or name == "exit" and not conditional_value
    if name in DECLARES:
        for word in rest[1:]:
            target = ASSIGNMENT.match(plain_text(word))
            if target:
                _assign_variable(shell, word, conditional=conditional_value)
            if name == "export" and not plain_text(word).startswith("-"):
                shell.exported.add(plain_text(word).partition("=")[0])
    elif name in ("cd", "pushd"):
        _change_folder(shell, rest, conditional=conditional)
    elif not rest:
        for word in prefix:
            _assign_variable(shell, word, conditional=conditional_value)
    elif _is_launch([_show_word(word, shell.variables) for word in _strip_wrappers(rest)]):
        yield _make_launch(shell, command, prefix, rest, conditional=conditional)


def _loses_variables(name: str, rest: list[str]) -> bool:
    """`set -e` loses nothing, `set -- a b` the arguments; `printf` only what it writes into a variable."""
    if name == "set":
        own = [text for before, text in zip(["", *rest], rest) if not re.match(r"[-+]\w*o$", before)]
        return any(not text.startswith(("-", "+")) or text == "--" for text in own)
    return name in LOSES or name == "printf" and rest[:1] == ["-v"]


def _assign_variable(shell: _Shell, word: Word, *, conditional: bool) -> None:
    target = ASSIGNMENT.match(plain_text(word))
    assert target is not None
    name, values = target.group(1), shell.variables.values
    new_values = None if conditional else _values_of_assignment(shell.variables, word)
    old = values.get(name, [])
    more = target.group(2) == "+"
    if more and new_values is not None and old is not None:
        array = _array_text(word) is not None
        new_values = [*old, *new_values] if array else ["".join((*old[:1], *new_values)), *old[1:]]
    values[name] = None if more and old is None else new_values


def _values_of_assignment(known: Variables, word: Word) -> list[str] | None:
    """What an assignment gives: one value, an array's, or None where only the shell can tell."""
    inner = _array_text(word)
    try:
        if inner is not None:
            inner_words = [inner_word for command in parse_commands(inner) for inner_word in command.words]
            return [text for inner_word in inner_words for text in expand_word(inner_word, known)]
        quoted_word = tuple(type(part)(part.text, part.plain, True) for part in word)
        return [expand_word(quoted_word, known)[0].partition("=")[2]]
    except NotPlain:
        return None


def _array_text(word: Word) -> str | None:
    if len(word) == 2 and word[1].text.startswith("(") and not word[1].quoted:
        return word[1].text[1:-1]
    return None


def _change_folder(shell: _Shell, words: list[Word], *, conditional: bool) -> None:
    try:
        to = [text for word in words[1:] for text in expand_word(word, shell.variables)]
    except NotPlain:
        to = []
    to = [text for text in to if text != "--"]
    known = shell.folder is not None and not conditional and len(to) == 1 and to[0] != "-"
    shell.folder = posixpath.normpath(posixpath.join(shell.folder or ".", to[0])) if known else None


def _strip_wrappers(words: list[Word]) -> list[Word]:
    """The command without what stands before it: nohup, time, env A=1."""
    while words and (name := plain_text(words[0])) in BEFORE:
        words = words[1 + BEFORE[name] :]
        while words and (plain_text(words[0]).startswith("-") or ASSIGNMENT.match(plain_text(words[0]))):
            words = words[1:]
    return words


def _show_word(word: Word, known: Variables) -> str:
    """A word as it is run, or as it is written where only the shell can tell."""
    try:
        return " ".join(expand_word(word, known))
    except NotPlain:
        return plain_text(word)


def _is_launch(names: list[str]) -> bool:
    if not names:
        return False
    name, rest = posixpath.basename(names[0]), names[1:]
    if STARTERS.match(name):
        return any(text.endswith(".py") for text in rest)
    if name == "torchrun" or name == "accelerate" and rest[:1] == ["launch"]:
        return True
    if not PYTHON.match(name) and not re.search(r"python|torchrun|launch", name, re.IGNORECASE):
        return False
    if "-m" in rest[:3]:
        module = rest[rest.index("-m") + 1 :][:1]
        return bool(module) and not TOOLS.match(module[0])
    script = next((text for text in rest if text.endswith(".py")), "")
    return bool(script) and not TOOLS.match(script) and "-c" not in rest[: rest.index(script)]


def _make_launch(
    shell: _Shell, command: Command, prefix: list[Word], words: list[Word], *, conditional: bool
) -> Launch:
    bare = _strip_wrappers(words)
    extra = [word for word in words[: len(words) - len(bare)] if ASSIGNMENT.match(plain_text(word))]
    environment, unknown = _collect_environment(shell, [*prefix, *extra])
    starter = posixpath.basename(plain_text(bare[0]))
    why: Scalar | None = None
    expanded: tuple[str, ...] = ()
    try:
        expanded = tuple(text for word in bare for text in expand_word(word, shell.variables))
    except NotPlain as cause:
        why = Sentence("shell_launch.unknown", text=str(cause))
    if any(not part.quoted and WRITTEN_OUT.match(part.text) for word in bare for part in word[:1]):
        why = Sentence("shell_launch.unknown", text=command.source)
    if shell.lost and any(not part.plain and re.search(r"[$`]", part.text) for word in bare for part in word):
        why = Sentence("shell_launch.unknown", text=f"{command.source} ({shell.lost})")
    if STARTERS.match(starter):
        why = Sentence("shell_launch.starter", starter=starter)
    elif conditional or shell.ended:
        why = Sentence("shell_launch.conditional")
    expanded = () if why else expanded
    return Launch(command.line, command.source, expanded, why, shell.folder, environment, unknown)


def _collect_environment(shell: _Shell, prefix: list[Word]) -> tuple[dict[str, str], tuple[str, ...]]:
    """What the command sees beyond what the shell was given: exported, and set in front of it."""
    variables = {name: shell.variables.values[name] for name in shell.exported if name in shell.variables.values}
    for word in prefix:
        variables[plain_text(word).partition("=")[0].rstrip("+")] = _values_of_assignment(shell.variables, word)
    known = {name: value[0] if value else "" for name, value in sorted(variables.items()) if value is not None}
    return known, tuple(sorted(name for name, value in variables.items() if value is None))
