"""The command `ascend-workbook` (also `python -m ascend_workbook`): the same verbs as the notebooks.

Exit codes: 0 good, 1 the verdict is Fix, 2 could not run, 130 stopped by the user.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import ascend_workbook
from ascend_workbook.cli import commands
from ascend_workbook.cli.mistakes import find_swallowed
from ascend_workbook.cli.options import Verb
from ascend_workbook.cli.parser import COMMAND, Parser
from ascend_workbook.findings.errors import Stopped, WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.findings.sentence import LANGUAGES, say
from ascend_workbook.redaction.exits import RedactedStream, redact_words
from ascend_workbook.redaction.known import remember_arguments
from ascend_workbook.show.text import escape_controls
from ascend_workbook.storage import refuse_unwritable, write_file

#: The group of entry points by which a distribution adds a verb: NAME = "package.module".
GUESTS = "ascend_workbook.verbs"


def main(argv: list[str] | None = None) -> int:
    """Run one verb and return the exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # characters that a terminal's encoding lacks end no command
            stream.reconfigure(errors="backslashreplace")
    remember_arguments(arguments)
    closed: object = None if sys.stdout else say("command.closed", _find_language(arguments))
    with _redact_streams():
        code = _run_line(arguments)
        if closed and code in (0, 1):
            print(closed, file=sys.stderr)
        return code


@contextmanager
def _redact_streams() -> Iterator[None]:
    """Let nothing that is printed hold a credential. What is printed on a closed stream goes nowhere."""
    if not (sys.stdin and sys.stdout and sys.stderr):
        while os.open(os.devnull, os.O_RDWR) < 2:  # the next file that is opened must not be what children print to
            pass
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (RedactedStream(stream or io.StringIO()) for stream in before)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        sys.stdout, sys.stderr = before


def _run_line(arguments: list[str]) -> int:
    lang, code = _find_language(arguments), 2
    try:
        args = build_parser(arguments[0] if arguments else "", lang).parse_args(arguments)
        for path in filter(None, (args.json, args.html, args.junit)):
            refuse_unwritable(path)
        script, words = find_swallowed(args, arguments)
        if words:  # options of ours that stand behind a script and so are the script's
            warning = {"options": words, "script": script, "verb": args.verb, "first": words[0]}
            print(say("command.swallowed", args.lang, **warning), file=sys.stderr)
        if "taken" in args:  # words between the script and a `--` that were read as options of ours
            print(say("command.taken", args.lang, words=" ".join(args.taken), verb=args.verb), file=sys.stderr)
        args.began = time.monotonic()
        verb: Verb = args.chosen
        with _set_language(args.lang):
            report = verb.run_verb(args)
        if isinstance(report, Report):
            report = replace(report, command=report.command or (COMMAND, *redact_words(arguments)))
            code = _write_files(report, args)
            if not (verb.show and verb.bind_parameters(verb.show, args, report)()):
                print(report.text(args.lang, details=getattr(args, "details", False)))
                for path in (args.json, args.html, args.junit):
                    if path:
                        print(say("command.written", args.lang, path=path))
                if "bundle" in report.facts:
                    print(say("selftest.bundle", args.lang, path=report.facts["bundle"]))
                for line in verb.end(report, args.lang) if verb.end else ():
                    print(escape_controls(line))
                if "page" in report.facts:  # a run's index: its path is the last line, so that it is easily found
                    print(report.facts["page"])
            if verb.last:
                verb.bind_parameters(verb.last, args, report)()
        else:  # `simulator env` and the like print for themselves
            code = report if isinstance(report, int) else 0
        sys.stdout.flush()
        return code
    except WorkbookError as error:
        return _could_not_run(error, lang)
    except KeyboardInterrupt as stop:
        stopped = stop if isinstance(stop, Stopped) else Stopped()
        print(stopped.message(lang), file=sys.stderr)
        return Stopped.EXIT
    except BrokenPipeError:  # `| head` has seen enough; the interpreter must not flush into the closed pipe either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code  # the verdict is what it is, whoever reads it
    except OSError as error:
        path = error.filename2 or error.filename
        if not path:
            return _could_not_run(WorkbookError("command.unnamed_file", error=explain_os_error(error)), lang)
        return _could_not_run(WorkbookError("command.file", path=str(path), error=explain_os_error(error)), lang)
    except Exception:  # noqa: BLE001 - a defect of ours is no verdict: exit code 1 would say that it is
        traceback.print_exc()
    return 2


@contextmanager
def _set_language(lang: str | None) -> Iterator[None]:
    """Set the language in which a verb and its children speak while it runs."""
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


def verb_names() -> list[str]:
    """Return the names of all verbs."""
    return sorted([*own_verbs(), *guest_verbs()])


def own_verbs() -> dict[str, str]:
    """Return the modules of the engine's own verbs, by verb."""
    return {verb: f"{commands.__name__}.{module}" for module, verbs in commands.MODULES.items() for verb in verbs}


def guest_verbs() -> dict[str, str]:
    """Return the modules of verbs that other installed distributions bring, by verb: entry points of GUESTS."""
    every: Any = entry_points()  # a mapping until Python 3.9
    points = every.select(group=GUESTS) if hasattr(every, "select") else every.get(GUESTS, ())
    return {point.name: point.value for point in points}


def load_verb(name: str) -> Verb:
    """Load the verb of this name."""
    own = own_verbs()
    verb: Verb = import_module(own[name]).VERBS[name] if name in own else import_module(guest_verbs()[name]).VERB
    return verb


def build_parser(verb: str = "", lang: str | None = None) -> Parser:
    """Return the parser with all verbs, or with this one where it is one of them: it starts sooner."""
    parser = Parser(prog=COMMAND, key="help", build_whole=build_parser, lang=lang)
    parser.add_version(ascend_workbook.__version__)
    place = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    names = [verb] if verb in own_verbs() else verb_names()
    for name in [verb] if verb in names else names:
        parser.add_below(place, name, load_verb(name))
    return parser


def _find_language(arguments: list[str]) -> str | None:
    """Return the language asked for, so far as the command line has one: an error in it is said in that one too."""
    requested = [value for name, value in zip(arguments, arguments[1:]) if name == "--lang"]
    requested += [word.partition("=")[2] for word in arguments if word.startswith("--lang=")]
    return next((word for word in requested if word in LANGUAGES), None)


def _write_files(report: Report, args: argparse.Namespace) -> int:
    """Write the files before anything is printed: a reader that goes away must not cost them. The exit code."""
    seconds, verb = time.monotonic() - args.began, args.chosen

    def make_junit() -> str:
        own_text: str | None = verb.junit(report) if verb.junit else None
        return report.junit(args.lang, seconds=seconds) if own_text is None else own_text

    for path, make in (
        (args.json, report.to_json),
        (args.html, partial(report.html, args.lang)),
        (args.junit, make_junit),
    ):
        if path:
            write_file(path, make())
    return 1 if report.status is Status.FIX else 0


def _could_not_run(error: WorkbookError, lang: str | None) -> int:
    print(escape_controls(say("command.error", lang, message=error.message(lang))), file=sys.stderr)
    if error.hint(lang):
        print(escape_controls(say("command.hint", lang, hint=error.hint(lang))), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
