"""The command `ascend-simulator`: build the simulated NPU, say what is there, run a program on it.

Exit codes: 0 good, 1 not built or out of date (status), 2 could not run; `run` ends with its command's own.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import time
from pathlib import Path

import ascend_simulator
from ascend_simulator.errors import LANGUAGES, SimulatorError, say

MOST_DEVICES = 64


def main(argv: list[str] | None = None) -> int:
    """Run one action and return the exit code."""
    words = sys.argv[1:] if argv is None else argv
    # help is printed before the words are parsed: its language is that of the words before a command to run
    own = words[: words.index("--")] if "--" in words else words
    asked = [word for name, word in zip(own, own[1:]) if name == "--lang"]
    asked += [word.partition("=")[2] for word in own if word.startswith("--lang=")]
    args = make_parser(asked[0] if asked and asked[0] in LANGUAGES else None).parse_args(words)
    if args.lang:
        os.environ["ASCEND_WORKBOOK_LANG"] = args.lang
    try:
        return int(args.act(args))
    except SimulatorError as error:
        print(say("simulator.error", message=error.message()), file=sys.stderr)
        if error.hint():
            print(say("simulator.next_step", hint=error.hint()), file=sys.stderr)
        return 2


def make_parser(lang: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of all actions, its help in the language."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "ascend-simulator",
        description=say("simulator.help", lang),
        epilog=say("simulator.usage", lang),
        formatter_class=form,
    )
    parser.add_argument("--lang", choices=LANGUAGES, help=say("simulator.help.lang", lang))
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    acts = {"build": build_simulator, "status": print_status, "run": run_command, "env": print_environment}
    for name, act in acts.items():
        text = say(f"simulator.help.{name}", lang)
        action = actions.add_parser(name, help=text, description=text)
        action.set_defaults(act=act)
        action.add_argument(
            "--lang", choices=LANGUAGES, default=argparse.SUPPRESS, help=say("simulator.help.lang", lang)
        )
        if name != "status":
            action.add_argument("--force", action="store_true", help=say("simulator.help.force", lang))
        if name in ("run", "env"):
            action.add_argument("--devices", type=int, metavar="N", help=say("simulator.help.devices", lang))
            action.add_argument("--numerics", choices=("cpu", "ascend"), help=say("simulator.help.numerics", lang))
            action.add_argument("--fault", metavar="FAULT", help=say("simulator.help.fault", lang))
        if name == "run":
            rest = argparse.REMAINDER
            action.add_argument("command", nargs=rest, metavar="-- COMMAND", help=say("simulator.help.command", lang))
    return parser


def build_simulator(args: argparse.Namespace) -> int:
    """Build what is missing or out of date."""
    began = time.monotonic()
    key = "simulator.built" if ascend_simulator.build(force=args.force) else "simulator.up_to_date"
    print(say(key, path=str(ascend_simulator.location()), seconds=round(time.monotonic() - began, 1)))
    return 0


def print_status(args: argparse.Namespace) -> int:
    """Say whether it is built, for which versions, and where."""
    stamp, path = ascend_simulator.stamp(), str(ascend_simulator.location())
    if not stamp:
        print(say("simulator.absent", path=path))
        return 1
    is_current = ascend_simulator.is_current()
    key = "simulator.up_to_date" if is_current else "simulator.out_of_date"
    print(say(key, path=path, **{name: str(stamp.get(name, "")) for name in ("torch", "torch_npu")}))
    return 0 if is_current else 1


def run_command(args: argparse.Namespace) -> int:
    """Run a command that sees simulated NPUs: this process becomes it, so that signals and exit codes are its own."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise SimulatorError("simulator.no_command")
    environ = chosen_environment(args)
    own = str(Path(sys.executable).parent)  # `python` is the one whose torch the simulator fits, activated or not
    environ["PATH"] = os.pathsep.join(filter(None, (own, environ.get("PATH"))))
    program = shutil.which(command[0], path=environ["PATH"])
    sys.stdout.flush()
    try:
        os.execve(program or command[0], command, environ)
    except OSError as error:
        raise SimulatorError("simulator.not_found", command=command[0], error=str(error.strerror)) from error


def print_environment(args: argparse.Namespace) -> int:
    """Print the environment as shell commands."""
    for name, text in sorted(chosen_environment(args).items()):
        if os.environ.get(name) != text:
            print(f"export {name}={shlex.quote(text)}")
    return 0


def chosen_environment(args: argparse.Namespace) -> dict[str, str]:
    """Return the environment of a child that sees as many simulated NPUs as were asked for."""
    if args.devices is not None and not 1 <= args.devices <= MOST_DEVICES:
        raise SimulatorError("simulator.devices", devices=args.devices)
    options = {"force": args.force, "numerics": args.numerics, "fault": args.fault}
    return ascend_simulator.environment(args.devices, **options)


if __name__ == "__main__":
    sys.exit(main())
