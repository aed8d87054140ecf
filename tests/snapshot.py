"""What users hold on to, written down: names, options, exit codes, the shape of reports, the schemas.

python -m tests.snapshot --write     write tests/data/snapshot/*.json anew
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, Callable

import helpers

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "data" / "snapshot"
#: A script with something to migrate, and one without.
SCRIPT = "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\nprint(model(torch.ones(1, 2).cuda()))\n"
CLEAN = "print(1)\n"
LOG = "RuntimeError: ACL stream synchronize failed, error code is 507015\n"
#: Exit code by command line, run in a folder with the files of `write_files`.
LINES = (
    "--version",
    "--help",
    "scan --help",
    "storage upload --help",
    "scan clean.py",
    "scan train.py",
    "scan train.py --fail-on auto",
    "scan absent.py",
    "scan",
    "scan train.py --nothing-like-it",
    "scan train.py --fail-on nothing-like-it",
    "nothing-like-it",
    "course",
    "--lang zh scan train.py",
    "check --run capture",
    "dry-run --steps many train.py",
    "explain --symptom hang",
    "explain stopped.log",
    "rewrite train.py",
    "rewrite train.py --mode",
    "modelarts job --code a --out b --flavor f --command x --script y",
    "simulator run",
    "capture train.py --out capture",
    "",
)
#: Name -> the command line whose report is described.
REPORTS = {
    "scan": "scan train.py",
    "assess": "assess train.py",
    "rewrite": "rewrite train.py",
    "explain": "explain stopped.log",
    "check": "check --no-compute --device cpu",
    "analyse": f"analyse {ROOT / 'tests/data/profiling/cpu.pt.trace.json'}",
}
#: Depth from which on keys are a machine's or a file's own.
DEPTH = 3
#: What is shorter stands on one line of the files.
LINE = 400
#: Prints every option of every verb: the parser is caught as it is about to read a command line.
CATCH = """
import argparse, json, runpy, sys

def describe(action):
    default, kind = action.default, action.type
    return {
        "options": list(action.option_strings), "dest": action.dest, "nargs": action.nargs, "required": action.required,
        "default": "(none)" if default is argparse.SUPPRESS else list(default) if isinstance(default, (list, tuple))
                   else default if isinstance(default, (str, int, float, type(None))) else str(default),
        "choices": None if action.choices is None else [str(choice) for choice in action.choices],
        "metavar": list(action.metavar) if isinstance(action.metavar, tuple) else action.metavar,
    }

def walk(parser, name, verbs):
    verbs[name] = {"options": [], "one_of": [[action.dest for action in group._group_actions]
                                             for group in parser._mutually_exclusive_groups]}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                walk(below, f"{name} {word}".strip(), verbs)
        else:
            verbs[name]["options"].append(describe(action))
    verbs[name]["options"].sort(key=lambda option: (not option["options"] and [-1] or [1], option["options"]))

def catch(self, *args, **options):
    verbs = {}
    walk(self, "", verbs)
    print(json.dumps(verbs))
    raise SystemExit

argparse.ArgumentParser.parse_args = argparse.ArgumentParser.parse_known_args = catch
sys.argv = ["ascend-workbook"]
runpy.run_path("ascend_workbook", run_name="__main__")
"""


def run_command(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does, in English, in the folder."""
    environ = {**os.environ, "ASCEND_WORKBOOK_LANG": "en", "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, str(ROOT / "ascend_workbook"), *line.split()]
    return subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, timeout=300, check=False)


def write_files(folder: Path) -> None:
    """Write the files that the command lines name."""
    for name, text in (("train.py", SCRIPT), ("clean.py", CLEAN), ("stopped.log", LOG)):
        (folder / name).write_text(text, encoding="utf-8")


def describe_names() -> dict[str, Any]:
    """Return each public name with its parameters, from a Python of its own: `ascend_workbook.selftest` is a folder
    too.
    """
    code = "import json; from tests.snapshot import list_names; print(json.dumps(list_names()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    names: dict[str, Any] = json.loads(done.stdout)
    return names


def list_names() -> dict[str, Any]:
    """Return each public name with its parameters: name, kind, default where it is a plain value."""
    return {name: _describe_parameters(getattr(helpers, name)) for name in sorted(helpers.__all__)}


def _describe_parameters(value: Any) -> Any:
    if not callable(value):
        return type(value).__name__
    parameters = inspect.signature(value).parameters.values()
    return [[parameter.name, parameter.kind.name, _describe_default(parameter.default)] for parameter in parameters]


def _describe_default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return "(none)"
    if value == sys.executable:
        return "(this Python)"
    return repr(value) if isinstance(value, (str, int, float, tuple, type(None))) else type(value).__name__


def describe_options() -> dict[str, Any]:
    """Return every verb's and action's options."""
    done = subprocess.run(
        [sys.executable, "-c", CATCH], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    verbs: dict[str, Any] = json.loads(done.stdout)
    return verbs


def describe_exits() -> dict[str, int]:
    """Return the exit code of each command line."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        return {line: run_command(line, Path(folder)).returncode for line in LINES}


def describe_reports() -> dict[str, Any]:
    """Return the shape of each report as JSON."""
    shapes = {}
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        for name, line in REPORTS.items():
            run_command(f"{line} --json {name}.json", Path(folder))
            report = json.loads((Path(folder) / f"{name}.json").read_text(encoding="utf-8"))
            shapes[name] = describe_shape(report, 1 if name == "check" else DEPTH)
    return shapes


def describe_shape(value: Any, depth: int) -> Any:
    """Return keys with the shape below, of a list the shapes that occur; a plain value is its type's name."""
    if isinstance(value, dict):
        below = {key: describe_shape(each, depth - 1) for key, each in sorted(value.items())}
        return below if depth else "object"
    if isinstance(value, list):
        texts = {json.dumps(describe_shape(each, depth), sort_keys=True) for each in value}
        return [json.loads(text) for text in sorted(texts)] if depth else "list"
    return type(value).__name__


def describe_schemas() -> dict[str, Any]:
    """Return the schemas that reports and summaries hold to."""
    names = ("report.schema.json", "summary.schema.json")
    files = {name: [*ROOT.glob(f"*/{name}"), *ROOT.glob(f"*/*/{name}")] for name in names}
    return {name: json.loads(places[0].read_text(encoding="utf-8")) for name, places in files.items()}


PARTS: dict[str, Callable[[], Any]] = {
    "names": describe_names,
    "options": describe_options,
    "exits": describe_exits,
    "reports": describe_reports,
    "schemas": describe_schemas,
}


@cache
def describe_part(name: str) -> Any:
    """Return a part as it reads back from JSON."""
    return json.loads(json.dumps(PARTS[name]()))


def write() -> None:
    """Write every part."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in PARTS:
        (FOLDER / f"{name}.json").write_text(_lay_out(describe_part(name)) + "\n", encoding="utf-8")


def _lay_out(value: Any, depth: int = 0) -> str:
    """Return JSON with what is short on a line of its own, so that a difference is one line."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not isinstance(value, (dict, list)) or (depth > 1 and len(text) < LINE):
        return text
    names = [f"{json.dumps(key)}: " for key in sorted(value)] if isinstance(value, dict) else [""] * len(value)
    below = [value[key] for key in sorted(value)] if isinstance(value, dict) else value
    lines = ",\n".join(" " * (depth + 1) + name + _lay_out(each, depth + 1) for name, each in zip(names, below))
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{lines}\n{' ' * depth}{last}" if lines else first + last


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    write()
