"""A verb's command line, derived from the signature of the function that notebooks call.

A parameter is an option of its name: `nproc: int = 1` is `--nproc`, `statistics: bool = True` is `--no-statistics`, a
parameter without a default stands alone. A `Row` says what a signature does not: another spelling, choices, what a
value is called. What only a command line has is a parameter of the verb's `run`, `show` or `last`.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import LANGUAGES
from ascend_workbook.machine.number_lists import parse_numbers

if TYPE_CHECKING:
    from ascend_workbook.machine.launch import Progress

EMPTY = inspect.Parameter.empty


def progress_line(line: str) -> None:
    """Print a line on stderr at once, so that stdout holds the report alone."""
    print(line, file=sys.stderr, flush=True)


def progress_lines(now: Progress) -> None:
    """Print the lines that the script of a launch has written since."""
    for line in now.lines:
        progress_line(line)


#: Parameters that the command itself gives, and those that no command line gives.
GIVEN: dict[str, Callable[..., None]] = {
    "progress": progress_line,
    "tell": progress_line,
    "on_progress": progress_lines,
}
WITHHELD = frozenset(
    {*GIVEN, "call", "report", "lang", "cwd", "python", "settings", "project", "notebooks", "say_progress"}
)
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
PLAIN: dict[str, Callable[[str], object]] = {"int": int, "float": float, "Path": Path}


@dataclass(frozen=True)
class Row:
    """What the signature does not say of an option; `flag` without dashes is a word that stands alone.

    `names` are words that its help lists, where they are no choices.
    """

    flag: str = ""
    metavar: str | tuple[str, ...] | None = None
    choices: Sequence[object] | None = None
    nargs: int | str | None = None
    default: object = EMPTY
    kind: Callable[[str], object] | None = None
    dest: str = ""
    short: str = ""
    names: Sequence[str] = ()
    hidden: bool = False


#: A text alone is what the option's value is called; None withholds the option.
Rows = Mapping[str, Union[Row, str, None]]


@dataclass(frozen=True)
class Option:
    """One option: the parameter, how it is written, and what argparse is told of it."""

    keyword: str
    flags: tuple[str, ...]
    dest: str
    settings: dict[str, Any]
    row: Row = field(default_factory=Row)
    kind: Callable[[str], object] | None = None
    inverse: bool = False
    pairs: bool = False

    @property
    def flag(self) -> str:
        return self.flags[-1]

    @property
    def word(self) -> str:
        """Return its name in the keys of the catalogue."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def stands_alone(self) -> bool:
        return not self.flag.startswith("-")

    @property
    def takes_value(self) -> bool:
        return self.settings.get("action") != "store_true"

    @property
    def is_required(self) -> bool:
        alone = self.stands_alone and self.settings.get("nargs") not in ("?", "*", argparse.REMAINDER)
        return alone or bool(self.settings.get("required"))

    @property
    def value_name(self) -> str:
        """Return how its value is written."""
        metavar, choices = self.settings.get("metavar"), self.settings.get("choices")
        if isinstance(metavar, tuple):
            return " ".join(metavar)
        if metavar is None and choices is not None:
            return "|".join(map(str, choices))
        return str(metavar or (self.flag if self.stands_alone else self.dest.upper()))

    @property
    def usage_text(self) -> str:
        """Return how it stands on a command line: `--steps N`, `--device auto|npu`, `SCRIPT`."""
        value = f" {self.value_name}" if self.takes_value else ""
        return self.value_name if self.stands_alone else f"{', '.join(self.flags)}{value}"

    def read_value(self, args: argparse.Namespace) -> Any:
        """Return the parameter's value; EMPTY where nothing was given and the function's own default holds."""
        value = getattr(args, self.dest)
        if self.settings.get("nargs") == argparse.REMAINDER:
            value = value[1:] if value[:1] == ["--"] else value
        if self.settings.get("action") == "append" and not value:
            return EMPTY
        return dict(value) if self.pairs else not value if self.inverse else value


@dataclass(frozen=True)
class Verb:
    """A verb, or an action of one: the function, its rows, and how it is run and shown where that is special.

    `run(call, ...)` stands around the function, `show(report, ...)` prints in place of the report where it returns
    True, `last(report, ...)` prints behind it. `end(report, lang)` are the lines before the path
    of the page, which stands last. `details` is the flag that shows everything; `options_of` names what the function
    takes as `**options`.
    """

    function: Optional[Callable[..., object]] = None
    rows: Rows = field(default_factory=dict)
    run: Optional[Callable[..., object]] = None
    show: Optional[Callable[..., bool]] = None
    last: Optional[Callable[..., None]] = None
    junit: Optional[Callable[[Report], Optional[str]]] = None
    end: Optional[Callable[[Report, Optional[str]], list[str]]] = None
    details: str = ""
    actions: Mapping[str, Verb] = field(default_factory=dict)
    options_of: Optional[Callable[..., object]] = None
    one_of: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ("json", "html", "junit", "lang")
    examples: str = ""

    @cached_property
    def options(self) -> tuple[Option, ...]:
        """Return every option, each parameter once."""
        functions = [
            function for function in (self.function, self.options_of, self.run, self.show, self.last) if function
        ]
        options = [option for function in functions for option in derive_options(function, self.rows)]
        if self.details:
            options.append(Option("", (self.details,), "details", {"action": "store_true"}))
        return tuple({option.dest: option for option in reversed(options)}.values())[::-1]

    def run_verb(self, args: argparse.Namespace) -> object:
        """Run the verb with what the command line says."""
        call = self.bind_parameters(self.function, args) if self.function else None
        if self.run is None:
            return call() if call else None
        return self.bind_parameters(self.run, args, *([call] if call else []))()

    def bind_parameters(
        self, function: Callable[..., object], args: argparse.Namespace, *first: object
    ) -> partial[object]:
        """Return the function with its parameters' values."""
        by_keyword = {option.keyword: option for option in self.options}
        spread: list[Any] = []
        keywords: dict[str, object] = {}
        for parameter in self._walk_parameters(function):
            if parameter.name == "lang":
                value = args.lang
            elif parameter.name in WITHHELD:
                value = EMPTY if parameter.name in self.rows else GIVEN.get(parameter.name, EMPTY)
            else:
                option = by_keyword.get(parameter.name)
                value = EMPTY if option is None else option.read_value(args)
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                spread, keywords = [*keywords.values(), *value], {}
            elif value is not EMPTY:
                keywords[parameter.name] = value
        return partial(function, *first, *spread, **keywords)

    def _walk_parameters(self, function: Callable[..., object]) -> Iterator[inspect.Parameter]:
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
                yield parameter
            elif self.options_of:
                yield from inspect.signature(self.options_of).parameters.values()


def derive_options(function: Callable[..., object], rows: Rows) -> Iterator[Option]:
    """Yield an option for each parameter that a command line can give; a row of None withholds one."""
    for parameter in inspect.signature(function).parameters.values():
        row = rows.get(parameter.name, Row())
        row = Row(metavar=row) if isinstance(row, str) else row
        if parameter.name in WITHHELD or row is None or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        yield _derive_option(parameter, row)


def _derive_option(parameter: inspect.Parameter, row: Row) -> Option:
    types = str(parameter.annotation).split(" | ")
    default = parameter.default if row.default is EMPTY else row.default
    alone = parameter.kind is inspect.Parameter.VAR_POSITIONAL or (parameter.kind in POSITIONAL and default is EMPTY)
    words, dashed = parameter.name == "args", parameter.name.replace("_", "-")
    flag = row.flag or (parameter.name if alone or words else f"--no-{dashed}" if default is True else f"--{dashed}")
    flags, dest = tuple(filter(None, (row.short, flag))), row.dest or flag.lstrip("-").replace("-", "_")
    if types == ["bool"]:
        return Option(parameter.name, flags, dest, {"action": "store_true"}, row, inverse=default is True)
    kind = row.kind or next(
        (PLAIN[type_name] for type_name in types if type_name in PLAIN and "str" not in types), None
    )
    settings: dict[str, Any] = {"metavar": row.metavar, "choices": row.choices, "nargs": row.nargs}
    if row.kind is None and any(re.match(r"(Sequence|tuple)\[int", type_name) for type_name in types):
        kind, settings["metavar"], default = partial(parse_numbers, name=flag), "LIST", _as_list(default)
    elif any(re.match(r"(Sequence|Iterable|Mapping)\[", type_name) for type_name in types) and row.nargs in (None, 2):
        append = not (flag == parameter.name or row.nargs == 2 and types[0].startswith("Sequence"))
        settings.update({"action": "append"} if append else {})
        default = [] if row.default is EMPTY else row.default
    if not flag.startswith("-"):
        several = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else argparse.REMAINDER if words else None
        settings["nargs"] = row.nargs or several
        default = default if settings["nargs"] == "?" else EMPTY
        settings.pop("action", None)
    elif default is EMPTY:
        settings["required"] = True
    settings = {name: value for name, value in settings.items() if value is not None}
    settings.update({} if default is EMPTY else {"default": _as_list(default)})
    pairs = types[0].startswith("Mapping") and row.nargs == 2
    return Option(parameter.name, flags, dest, settings, row, kind, pairs=pairs)


def _as_list(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def output_options(verb: Verb, *, action: bool) -> Iterator[Option]:
    """Yield the options of every verb; behind an action they do not undo what stands before it."""
    default = argparse.SUPPRESS if action else None
    for name in verb.outputs:
        value = {"choices": LANGUAGES} if name == "lang" else {"metavar": "FILE"}
        yield Option("", (f"--{name}",), name, {**value, "default": default})
