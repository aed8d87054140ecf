"""The parser of the command: built from the verbs, told in the reader's language, wrong lines with the next step."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Callable, NoReturn

from ascend_workbook.cli import help_page, mistakes
from ascend_workbook.cli.commands import load_examples
from ascend_workbook.cli.options import Option, Verb, output_options
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence

COMMAND = "ascend-workbook"
HELP = ("-h", "--help")
#: Verbs that are named where several have an option.
MOST = 4


class Parser(argparse.ArgumentParser):
    """Knows its own options: what is wrong with a line is told from them, and so is the help.

    `key` begins its keys in the catalogue; `build_whole` makes the parser with all verbs.
    """

    def __init__(
        self, *, key: str, build_whole: Callable[[], Parser], lang: str | None = None, **settings: Any
    ) -> None:
        super().__init__(**settings, add_help=False, exit_on_error=False)
        self.key, self.lang, self.build_whole = key, lang, build_whole
        self.verb, self.examples = Verb(), list[str]()
        self.options: list[Option] = [Option("", HELP, "help", {"action": "store_true"})]
        self.below: dict[str, Parser] = {}
        self.words: list[str] = []
        self.add_argument(*HELP, action="help")

    def add_version(self, version: str) -> None:
        """Add the option that prints the version."""
        self.add_argument("--version", action="version", version=f"{COMMAND} {version}")
        self.options.append(Option("", ("--version",), "version", {"action": "store_true"}))

    def add_below(
        self, place: argparse._SubParsersAction[Parser], name: str, verb: Verb, *, action: bool = False
    ) -> None:
        """Add the parser of a verb, or of an action of this one."""
        key = f"{self.key}.{name.replace('-', '_')}"
        parser = place.add_parser(name, key=key, build_whole=self.build_whole, lang=self.lang)
        parser.examples = [line for line in self.examples if f"{line} ".startswith(f"{parser.prog} ")]
        parser.declare_verb(verb, action=action)
        self.below[name] = parser

    def declare_verb(self, verb: Verb, *, action: bool = False) -> None:
        """Take the verb's options, examples and actions."""
        self.verb = verb
        if not action:
            own = verb.examples.strip().splitlines() or load_examples().get(self.prog.partition(" ")[2], ())
            self.examples = [line.strip() for line in own]
        group = self.add_mutually_exclusive_group() if verb.one_of else self
        for option in (*verb.options, *output_options(verb, action=action)):
            self._declare_option(option, group if option.dest in verb.one_of else self)
        if verb.actions:
            actions = self.add_subparsers(dest="action", metavar="ACTION", required=True)
            for name, below in verb.actions.items():
                self.add_below(actions, name, below, action=True)
        else:
            self.set_defaults(chosen=verb, own=frozenset(self.by_flag()) - set(HELP))

    def _declare_option(self, option: Option, place: argparse._ActionsContainer) -> None:
        settings: dict[str, Any] = dict(option.settings)
        if option.takes_value and (option.kind or "choices" in settings):
            settings["type"] = partial(self._convert_value, option)
        if option.row.hidden:
            settings["help"] = argparse.SUPPRESS
        if not option.stands_alone:
            settings["dest"] = option.dest
        place.add_argument(*option.flags, **settings)
        self.options.append(option)

    def _convert_value(self, option: Option, text: str) -> object:
        """Return the value; raise WorkbookError where it is none of the option's."""
        if text == option.settings.get("default"):
            return text
        try:
            value = option.kind(text) if option.kind else text
        except ValueError:
            word = Sentence(f"command.usage.{getattr(option.kind, '__name__', 'int')}")
            raise self.make_refusal("value", option=option.flag, given=text, kind=word) from None
        choices = option.settings.get("choices")
        if choices is not None and value not in choices:
            raise self.make_refusal("choice", option=option.flag, given=text, known=[*choices])
        return value

    def make_refusal(self, mistake: str, **args: Scalar) -> WorkbookError:
        """Return the error that says what is wrong with the line."""
        return WorkbookError("command.usage", error=Sentence(f"command.usage.{mistake}", **args), command=self.prog)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does; a word that a verb does not know is its own error."""
        self.words = list(args or ())
        self._refuse_unknown_verb()
        words, taken = (self.words, []) if self.below else mistakes.bring_forward(self, self.words)
        try:
            namespace_read, unknown = super().parse_known_args(words, namespace)
        except argparse.ArgumentError as error:
            raise self._refuse_value(error) from None
        if unknown and not self.below:
            raise self._refuse_option(unknown)
        if taken:
            namespace_read.taken = taken
        return namespace_read, unknown

    def _refuse_unknown_verb(self) -> None:
        words = iter(self.words if self.below else ())
        by_flag = self.by_flag()
        for word in words:
            if word in HELP or word == "--version":
                return
            if not word.startswith("-"):
                if word not in self.below:
                    raise self._refuse_verb(word)
                return
            if self.prog == COMMAND:
                if set(HELP) & set(self.words):
                    self.print_help()
                    self.exit()
                raise WorkbookError("command.option_first", option=word.partition("=")[0], command=self.prog)
            if word in by_flag and by_flag[word].takes_value:
                next(words, "")

    def _refuse_verb(self, word: str) -> WorkbookError:
        within = self.prog.partition(" ")[2]  # the verb, where the word is no action of it
        verb, near = f"{within} {word}".strip(), mistakes.near_verb(self, word)
        if near:
            nearest = f"`{f'{within} {near}'.strip()}`"
            return WorkbookError("command.no_verb", verb=verb, nearest=nearest, command=self.prog)
        return WorkbookError("command.unknown_verb", verb=verb, known=[*self.below], command=self.prog)

    def _refuse_value(self, error: argparse.ArgumentError) -> WorkbookError:
        """Return the error of an option: it lacks its value, has one too many, or does not go with another."""
        by_flag = self.by_flag()
        flag = next((name for name in str(error.argument_name).split("/") if name in by_flag), "")
        option = by_flag.get(flag)
        if option is None or not option.takes_value:
            return WorkbookError("command.usage", error=str(error), command=self.prog)
        for other in self.options if option.dest in self.verb.one_of else ():
            if other.dest in self.verb.one_of and other is not option and other.flag in self.words:
                return self.make_refusal("both", option=flag, other=other.flag)
        return self.make_refusal("no_value", option=flag)

    def _refuse_option(self, unknown: list[str]) -> WorkbookError:
        wrong: Scalar = Sentence("command.usage.unknown", given=" ".join(unknown))
        option = next((word.partition("=")[0] for word in unknown if word.startswith("--")), "")
        near = mistakes.near_option(self, option) if option else ""
        if near:
            return WorkbookError("command.misspelt", error=wrong, command=self.prog, nearest=near)
        leaves = self.build_whole().walk_leaves() if option else ()
        verbs: list[Scalar] = [f"`{name}`" for name, parser in leaves if option in parser.by_flag()]
        key = "command.elsewhere" if verbs else "command.usage"
        return WorkbookError(key, error=wrong, option=option, verbs=verbs[:MOST], command=self.prog)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse says itself: the names of what is missing stand behind its colon."""
        required = {name for option in self.options if option.is_required for name in (option.flag, option.value_name)}
        required |= {"VERB", "ACTION"}
        names = [name for name in message.rpartition(": ")[2].split(", ") if name in required]
        behind = [name for name in names if name in self.words]
        if behind:  # argparse gives all that follows the script to the script
            raise WorkbookError("command.behind", name=behind[0], command=self.prog)
        if names:
            raise self.make_refusal("required", names=[*names])
        raise WorkbookError("command.usage", error=message, command=self.prog)

    def by_flag(self) -> Mapping[str, Option]:
        """Return its options by every way to write them."""
        return {flag: option for option in self.options for flag in option.flags}

    def walk_leaves(self, name: str = "") -> Iterator[tuple[str, Parser]]:
        """Yield the parsers below that take a command, with their names; itself where there is none."""
        if not self.below:
            yield name, self
        for word, parser in self.below.items():
            yield from parser.walk_leaves(f"{name} {word}".strip())

    def format_help(self) -> str:
        """Return the help in the reader's language."""
        return help_page.write_page(self)
