"""The command `ascend-workbook` (also `python -m helpers`): the same verbs as the notebooks.

Exit codes: 0 good, 1 the verdict is FAIL, 2 could not run, 130 stopped by the user.
"""

from __future__ import annotations

import argparse
import io
import os
import pkgutil
import re
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

import helpers
from helpers import commands, suggestions, usage
from helpers.errors import Stopped, WorkbookError, reason
from helpers.finding import Status
from helpers.report import Report
from helpers.storage import refuse_unwritable, write_file
from helpers.words import LANGUAGES, Scalar, say


def main(argv: list[str] | None = None) -> int:
    """Runs one verb; the exit code."""
    given = sys.argv[1:] if argv is None else argv
    _print_anything()
    lang, code = _language(given), 2
    try:
        args = build_parser(given[0] if given else "").parse_args(given)
        for path in filter(None, (args.json, args.html, args.junit)):
            refuse_unwritable(path)
        _tell_swallowed(args, given)
        args.began = time.monotonic()
        with _speaking(args.lang):
            report = args.run(args)
        if isinstance(report, Report):
            code = _write(report, args)
            if not (args.show and args.show(report, args)):
                _show(report, args)
            if args.last:
                args.last(report, args)
        else:  # `simulator env` and the like print for themselves
            code = int(report or 0)
        sys.stdout.flush()
        return code
    except WorkbookError as error:
        return _could_not_run(error, lang)
    except KeyboardInterrupt as stop:
        told = stop if isinstance(stop, Stopped) else Stopped()
        print(told.message(lang), file=sys.stderr)
        return Stopped.EXIT
    except BrokenPipeError:  # `| head` has seen enough; the interpreter must not flush into the closed pipe either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code  # the verdict is what it is, whoever reads it
    except OSError as error:
        path = error.filename2 or error.filename
        return _could_not_run(WorkbookError("command.file", path=str(path or ""), error=reason(error)), lang)
    except Exception:  # noqa: BLE001 - a defect of ours is no verdict: exit code 1 would say that it is
        traceback.print_exc()
    return 2


@contextmanager
def _speaking(lang: str | None) -> Iterator[None]:
    """What is told while a verb runs, and by its children, is in the language asked for."""
    before = os.environ.get("ASCEND_WORKBOOK_LANG")
    if lang:
        os.environ["ASCEND_WORKBOOK_LANG"] = lang
    try:
        yield
    finally:
        if lang and before is None:
            del os.environ["ASCEND_WORKBOOK_LANG"]
        elif lang and before is not None:
            os.environ["ASCEND_WORKBOOK_LANG"] = before


class Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line as every other error is said: in words, with the next step."""

    given: list[str]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does; words that a verb does not know are an error of that verb, which knows its options."""
        self.given = list(args or ())
        known, unknown = super().parse_known_args(args, namespace)
        if unknown and self._subparsers is None:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return known, unknown

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"argument (?:VERB|ACTION): invalid choice: '([^']*)'", message)
        if wrong:
            raise self._no_verb(wrong[1])
        unknown = re.search(r"unrecognized arguments:.*?(?<!\S)(--[\w-]+)", message)
        if unknown:
            raise self._no_option(message, unknown[1])
        missing = re.search(r"arguments are required: (.*)", message)
        behind = [name for name in (missing[1].split(", ") if missing else []) if name in self.given]
        if behind:  # argparse gives all that follows the script to the script
            raise WorkbookError("command.behind", name=behind[0], command=self.prog)
        raise WorkbookError("command.usage", error=usage.told(message), command=self.prog)

    def _no_verb(self, word: str) -> WorkbookError:
        before = self.given[: self.given.index(word)] if word in self.given else []
        if before and before[-1].startswith("-"):  # `--lang zh scan`: argparse takes the option's value for the verb
            return WorkbookError("command.option_first", option=before[-1], command=self.prog)
        within = self.prog.partition(" ")[2]  # the verb, where the word is no action of it
        verb, near = f"{within} {word}".strip(), suggestions.near_verb(self, word)
        if near:
            nearest = f"`{f'{within} {near}'.strip()}`"
            return WorkbookError("command.no_verb", verb=verb, nearest=nearest, command=self.prog)
        known: list[Scalar] = [*suggestions.actions_of(self)]
        return WorkbookError("command.unknown_verb", verb=verb, known=known, command=self.prog)

    def _no_option(self, message: str, option: str) -> WorkbookError:
        near = suggestions.near_option(self, option)
        if near:
            return WorkbookError("command.misspelt", error=usage.told(message), command=self.prog, nearest=near)
        verbs: list[Scalar] = [f"`{verb}`" for verb in suggestions.that_have(build_parser(), option)]
        key = "command.elsewhere" if verbs else "command.usage"
        return WorkbookError(key, error=usage.told(message), option=option, verbs=verbs, command=self.prog)


def build_parser(verb: str = "") -> argparse.ArgumentParser:
    """The parser with every verb of the commands folder, or with this one where it is one of them: it starts sooner."""
    parser = Parser(prog="ascend-workbook", description=__doc__.split("\n")[0])
    parser.add_argument("--version", action="version", version=f"ascend-workbook {helpers.__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for module in verb_modules(verb):
        doc = (module.__doc__ or "").strip()
        one = verbs.add_parser(
            module.NAME, help=doc.split("\n")[0], description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        module.configure(one)
        _describe_actions(one, doc)
        one.add_argument("--json", metavar="FILE", help="write the report as JSON (report.schema.json describes it)")
        one.add_argument("--html", metavar="FILE", help="write the report as a page that opens offline")
        one.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML, which CI servers read")
        one.add_argument("--lang", choices=LANGUAGES, help="language of what is printed (default: the locale's)")
        own = frozenset(word for action in one._actions for word in action.option_strings) - {"-h", "--help"}
        one.set_defaults(run=module.run, show=getattr(module, "show", None), own=own)
        one.set_defaults(last=getattr(module, "last", None), own_junit=getattr(module, "junit", None))
    return parser


def _describe_actions(verb: argparse.ArgumentParser, doc: str) -> None:
    """Each action's help: its sentence as the verb has it, and the examples of the verb's that are its own."""
    for group in verb._actions:
        if not isinstance(group, argparse._SubParsersAction):
            continue
        told = {each.dest: each.help or "" for each in group._choices_actions}
        for name, action in group.choices.items():
            own = [line for line in doc.splitlines() if f"{line} ".startswith(f"  {verb.prog} {name} ")]
            said = told.get(name, "")
            lines = [f"{said[:1].upper()}{said[1:]}.", *(["", "Examples:", *own] if own else [])]
            action.formatter_class, action.description = argparse.RawDescriptionHelpFormatter, "\n".join(lines)


def verb_modules(verb: str = "") -> list[ModuleType]:
    """The modules of all verbs; of the one verb where there is one of that name. A file is named after its verb."""
    names = [found.name for found in pkgutil.iter_modules(commands.__path__)]
    asked = verb.replace("-", "_")
    return [import_module(f"{commands.__name__}.{name}") for name in ([asked] if asked in names else names)]


def _tell_swallowed(args: argparse.Namespace, given: list[str]) -> None:
    """Options of ours behind a script, which are the script's there: said, as they have no effect on us."""
    script, words = commands.swallowed(args, given)
    if words:
        told: dict[str, Scalar] = {"options": words, "script": script, "verb": args.verb, "first": words[0]}
        print(say("command.swallowed", args.lang, **told), file=sys.stderr)


def _language(given: list[str]) -> str | None:
    """The language asked for, so far as the command line has one: an error in it is said in that language too."""
    asked = [value for name, value in zip(given, given[1:]) if name == "--lang"]
    asked += [each.partition("=")[2] for each in given if each.startswith("--lang=")]
    return next((each for each in asked if each in LANGUAGES), None)


def _print_anything() -> None:
    """Characters that a terminal's encoding lacks are written out instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _write(report: Report, args: argparse.Namespace) -> int:
    """The files, before anything is printed: a reader that goes away must not cost them. The exit code."""
    seconds = time.monotonic() - args.began

    def junit() -> str:
        own: str | None = args.own_junit(report) if args.own_junit else None
        return report.junit(args.lang, seconds=seconds) if own is None else own

    for path, make in ((args.json, report.to_json), (args.html, partial(report.html, args.lang)), (args.junit, junit)):
        if path:
            write_file(path, make())
    return 1 if report.status is Status.FAIL else 0


def _show(report: Report, args: argparse.Namespace) -> None:
    print(report.text(args.lang, details=getattr(args, "details", False)))
    for path in (args.json, args.html, args.junit):
        if path:
            print(say("command.written", args.lang, path=path))
    if "bundle" in report.facts:
        print(say("selftest.bundle", args.lang, path=report.facts["bundle"]))
    if "page" in report.facts:  # a run's index: its path is the last line, so that it is easily found
        print(report.facts["page"])


def _could_not_run(error: WorkbookError, lang: str | None) -> int:
    print(say("command.error", lang, message=error.message(lang)), file=sys.stderr)
    if error.hint(lang):
        print(say("command.hint", lang, hint=error.hint(lang)), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
