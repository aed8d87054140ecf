"""What a page tells of a command and of a function: options and words as the command shows them, the signature."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import helpers
from ascend_workbook.cli.help_page import describe_option, describe_verb
from ascend_workbook.cli.main import build_parser
from ascend_workbook.cli.parser import Parser

#: Options that every command has: told once, not at each.
COMMON = ("--help", "--json", "--html", "--junit", "--lang")


@dataclass(frozen=True)
class Command:
    """`name` is `storage upload` where a verb has commands of its own; an option is (how it is written, what for)."""

    name: str
    first: str
    examples: list[str]
    options: list[tuple[str, str]]


@cache
def whole_parser() -> Parser:
    """Return the parser with all verbs."""
    return build_parser()


def list_commands(verb: str, lang: str) -> Iterator[Command]:
    """Yield the verb, then its own commands."""
    parser = whole_parser().below[verb]
    yield _describe_command(verb, parser, parser.examples, lang)
    for name, below in parser.below.items():
        yield _describe_command(f"{verb} {name}", below, [], lang)


def _describe_command(name: str, parser: Parser, examples: list[str], lang: str) -> Command:
    options = [
        (option.usage_text, describe_option(parser, option, lang))
        for option in parser.options
        if option.flag not in COMMON and not option.row.hidden
    ]
    below = [(" | ".join(parser.below), "")] if parser.below else []
    return Command(name, describe_verb(parser, lang), examples, [*options, *below])


def signature_of(name: str) -> str:
    """Return a function's signature without types; raise TypeError where it is no function of ours with source."""
    function = inspect.unwrap(
        getattr(import_module(helpers._VERBS[name]), name)
    )  # `ascend_workbook.selftest` is a package too
    tree = ast.parse(inspect.getsource(function)).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise TypeError(f"helpers.{name} is no function")
    for argument in (*tree.args.args, *tree.args.kwonlyargs, tree.args.vararg, tree.args.kwarg):
        if argument is not None:
            argument.annotation = None
    return f"{name}({ast.unparse(tree.args)})"
