"""What a page tells of a command and of a function: options from argparse, the signature and docstring from source."""

from __future__ import annotations

import argparse
import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import helpers
from helpers.__main__ import build_parser, verb_modules

#: Options that every command has: told once, not at each.
COMMON = ("--help", "--json", "--html", "--junit", "--lang")


@dataclass(frozen=True)
class Command:
    """`name` is `storage upload` where a verb has commands of its own; an option is (how it is written, what for)."""

    name: str
    first: str
    examples: list[str]
    options: list[tuple[str, str]]


@dataclass(frozen=True)
class Function:
    """As in `from helpers import NAME`; `first` is its docstring's first paragraph."""

    name: str
    signature: str
    first: str


@cache
def parsers() -> dict[str, argparse.ArgumentParser]:
    """verb -> its parser"""
    parser = build_parser()
    return dict(_subparsers(parser))


def commands(verb: str) -> Iterator[Command]:
    """The verb, then its own commands."""
    doc = next((module.__doc__ or "").strip() for module in verb_modules() if verb == module.NAME)
    first = " ".join(doc.split("\n\n")[0].split())
    examples = [line.strip() for line in doc.splitlines() if line.startswith("  ascend-workbook")]
    parser = parsers()[verb]
    yield Command(verb, first, examples, list(_options(parser)))
    for name, sub in _subparsers(parser):
        yield Command(f"{verb} {name}", _help_of(parser, name), [], list(_options(sub)))


def function(name: str) -> Function:
    """Raises TypeError where the verb is no function of ours with source."""
    found = inspect.unwrap(getattr(import_module(helpers._VERBS[name]), name))  # `helpers.selftest` is a package too
    tree = ast.parse(inspect.getsource(found)).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise TypeError(f"helpers.{name} is no function")
    for argument in (*tree.args.args, *tree.args.kwonlyargs, tree.args.vararg, tree.args.kwarg):
        if argument is not None:
            argument.annotation = None
    first = " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())
    return Function(name, f"{name}({ast.unparse(tree.args)})", first)


def _subparsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _help_of(parser: argparse.ArgumentParser, name: str) -> str:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return next((each.help or "" for each in action._choices_actions if each.dest == name), "")
    return ""


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    formatter = parser._get_formatter()
    for action in parser._actions:
        if not set(action.option_strings) & set(COMMON) and action.help is not argparse.SUPPRESS:
            told = formatter._expand_help(action) if action.help else ""
            yield _written(action), told.replace(str(Path.cwd()), ".")


def _written(action: argparse.Action) -> str:
    """`--steps N`, `--device auto|npu`, `SCRIPT`."""
    if isinstance(action, argparse._SubParsersAction):
        return " | ".join(action.choices)
    value = _value(action)
    if not action.option_strings:
        return value
    return ", ".join(action.option_strings) + (f" {value}" if action.nargs != 0 else "")


def _value(action: argparse.Action) -> str:
    metavar: Any = action.metavar
    if isinstance(metavar, tuple):
        return " ".join(metavar)
    if metavar is None and action.choices is not None:
        return "|".join(map(str, action.choices))
    return str(metavar or (action.dest.upper() if action.option_strings else action.dest))
