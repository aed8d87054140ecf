"""The command line of `simulator`."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ascend_workbook.cli.options import Row, Rows, Verb
from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import say
from ascend_workbook.machine import simulator
from ascend_workbook.machine.simulator import coverage, operators
from ascend_workbook.machine.simulator import kernel as jupyter
from ascend_workbook.machine.simulator.coverage import write_document

MOST_DEVICES = 64


def build_simulator(call: partial[bool]) -> Report:
    """Build what is missing, and report it."""
    started = time.monotonic()
    key = "simulator.built" if call() else "simulator.up_to_date"
    seconds = round(time.monotonic() - started, 1)
    return _make_report(
        Finding("SIM001", Status.GOOD, key, {"path": str(simulator.simulator_location()), "seconds": seconds})
    )


def report_status() -> Report:
    """Report whether it is built and fits."""
    stamp = simulator.read_stamp()
    path = str(simulator.simulator_location())
    if not stamp:
        return _make_report(Finding("SIM001", Status.FIX, "simulator.absent", {"path": path}))
    versions = {name: str(stamp.get(name, "")) for name in ("torch", "torch_npu")}
    key = "simulator.up_to_date" if simulator.is_current() else "simulator.out_of_date"
    verdict = Status.GOOD if key == "simulator.up_to_date" else Status.FIX
    return _make_report(Finding("SIM001", verdict, key, {"path": path, **versions}))


def _make_report(finding: Finding) -> Report:
    stamp = simulator.read_stamp()
    names = ("torch", "torch_npu", "cann", "compiler", "standard", "cxx11_abi", "torch_root", "torch_npu_root")
    rows = tuple((name, str(stamp[name])) for name in names if name in stamp)
    table = Table((Column("simulator_part"), Column("simulator_version")), rows)
    return Report("environment", "simulator", (finding,), table, facts={"stamp": stamp})


def run_command(call: partial[dict[str, str]], command: Sequence[str], devices: int | None) -> int:
    """Become the command, so that signals and exit codes are its own."""
    _refuse_devices(devices)
    if not command:
        raise WorkbookError("simulator.no_command")
    environ = call()
    # `python` is the one whose torch the simulator fits, activated or not
    own_folder = str(Path(sys.executable).parent)
    environ["PATH"] = os.pathsep.join(filter(None, (own_folder, environ.get("PATH"))))
    program = shutil.which(command[0], path=environ.get("PATH"))
    sys.stdout.flush()
    try:
        os.execve(program or command[0], list(command), environ)
    except OSError as error:
        raise WorkbookError("simulator.not_found", command=command[0], error=explain_os_error(error)) from error


def print_environment(call: partial[dict[str, str]], devices: int | None) -> None:
    """Print the environment as shell commands."""
    _refuse_devices(devices)
    for name, text in sorted(call().items()):
        if os.environ.get(name) != text:
            print(f"export {name}={shlex.quote(text)}")


def install_kernel(call: partial[Path], lang: str | None, devices: int | None, threads: int | None) -> None:
    """Install the kernel."""
    _refuse_devices(devices)
    if threads is not None and threads < 1:
        raise WorkbookError("simulator.threads", threads=threads)
    print(say("simulator.kernel", lang, name=jupyter.NAME, path=str(call())))


def _refuse_devices(devices: int | None) -> None:
    simulator.import_distribution()  # before its sentences: they are not here without it
    if devices is not None and not 1 <= devices <= MOST_DEVICES:
        raise WorkbookError("simulator.devices", devices=devices)


def list_operators() -> Report:
    """List the operators of the simulator that is here."""
    return operators.list_operators(simulator.simulator_location(), simulator.simulator_environment())


def compare_coverage(
    call: partial[Report],
    *,
    dtype: Sequence[str] = (),
    direction: Sequence[str] = (),
    backward: bool = False,
    document: Path | None = None,
) -> Report:
    """Compare the slices of the whole table that are asked for, and write it where asked."""
    ways = [*direction, *(["backward"] if backward else [])]
    slices = [(way, name) for way in ways for name in dtype]  # named in full: run though not in the table
    if not slices:
        table = coverage.EVERYTHING
        slices = [(way, name) for way, name in table if way in (ways or (way,)) and name in (dtype or (name,))]
    report = call(slices=slices, progress=_show_progress)
    if document:
        write_document(report, document)
    return report


def _show_progress(done_count: int, total: int) -> None:
    if sys.stderr.isatty() and (done_count % 20 == 0 or done_count == total):
        print(f"\r{done_count}/{total}", end="\n" if done_count == total else "", file=sys.stderr, flush=True)


PLACE: Rows = {
    "base": None,
    "where": None,
    "devices": "N",
    "numerics": Row(choices=("cpu", "ascend")),
    "fault": "FAULT",
}
COVERAGE: Rows = {
    "dtype": Row(choices=coverage.DTYPES, default=None),
    "direction": Row(choices=coverage.DIRECTIONS, default=None),
    "names": Row("--operator", metavar="NAME"),
    "samples": "N",
    "workers": "N",
    "document": "FILE",
    **dict.fromkeys(("slices", "every", "env", "progress")),
}
COMMAND = Row(metavar="-- COMMAND", nargs=argparse.REMAINDER)
ACTIONS = {
    "build": Verb(simulator.build_simulator, {"location": None}, build_simulator),
    "status": Verb(run=report_status),
    "run": Verb(simulator.simulator_environment, {**PLACE, "command": COMMAND}, run_command, outputs=()),
    "env": Verb(simulator.simulator_environment, PLACE, print_environment, outputs=("lang",)),
    "kernel": Verb(jupyter.install_kernel, {"devices": "N", "threads": "N"}, install_kernel, outputs=("lang",)),
    "coverage": Verb(coverage.measure_coverage, COVERAGE, compare_coverage),
    "operators": Verb(run=list_operators),
}
VERBS = {"simulator": Verb(actions=ACTIONS)}
