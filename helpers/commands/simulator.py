"""Build the simulated NPU, and run things on it.

Examples:
  ascend-workbook simulator build
  ascend-workbook simulator status
  ascend-workbook simulator run -- python train.py
  ascend-workbook simulator run --devices 4 -- torchrun --nproc-per-node 4 train.py
  eval "$(ascend-workbook simulator env)"
  ascend-workbook simulator kernel
  ascend-workbook simulator kernel --prefix /usr/local --threads 1
  ascend-workbook simulator operators --html operators.html
  ascend-workbook simulator coverage
  ascend-workbook simulator coverage --dtype float16 --backward --operator nn.functional.gelu --json gelu.json

A shell needs no more than `source FOLDER/set_env.sh`, with the folder that `status` names. What it reads then:
  ASCEND_WORKBOOK_SIM_DEVICES      how many NPUs (default 2)
  ASCEND_WORKBOOK_SIM_MEMORY_MIB   memory of each (default: half of the host's, shared by all)
  ASCEND_WORKBOOK_SIM_SOC          chip name that torch_npu is told (default Ascend910B2, whose core counts stay)
  ASCEND_WORKBOOK_SIM_NUMERICS     ascend: HF32 where torch_npu allows it (default cpu)
  ASCEND_WORKBOOK_SIM_FAULT        faults on purpose, or @FILE: softmax@3:scale=1.01, conv2d@step=2,rank=0:nan
  ASCEND_WORKBOOK_SIM_FORCE        1: even where a real CANN or driver is
  ASCEND_WORKBOOK_SIM_TIMES        print how long the start took
  ASCEND_RT_VISIBLE_DEVICES        which of them this process sees, as with CANN
  HCCL_CONNECT_TIMEOUT, HCCL_EXEC_TIMEOUT   seconds to wait for other ranks, as with CANN (120, 1836)
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import Callable, Union

from helpers import simulator
from helpers.commands import add_outputs, behind
from helpers.errors import WorkbookError, reason
from helpers.finding import Finding, Status
from helpers.report import Column, Report, Table
from helpers.simulator import jupyter, operators
from helpers.simulator.coverage import command as covering
from helpers.words import LANGUAGES, say

NAME = "simulator"
MOST_DEVICES = 64


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    build = actions.add_parser("build", help="build what is missing or out of date")
    build.add_argument("--force", action="store_true", help="build even if nothing has changed")
    status = actions.add_parser("status", help="say whether it is built, for which versions, and where")
    run = actions.add_parser("run", help="run a command that sees simulated NPUs")
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the command and its arguments")
    env = actions.add_parser("env", help="print the environment as shell commands")
    kernel = actions.add_parser("kernel", help="install the Jupyter kernel " + jupyter.NAME)
    kernel.add_argument("--threads", type=int, metavar="N", help="threads of each process (default: one for each core)")
    kernel.add_argument("--prefix", type=Path, help="environment to install into (default: this Python's)")
    measure = actions.add_parser("coverage", help="compare torch's operator database with the CPU, call by call")
    covering.configure(measure)
    listing = actions.add_parser("operators", help="list torch_npu's operators: how each runs, which dtypes it takes")
    for action in (build, status, measure, listing):
        add_outputs(action)
    for action in (env, kernel):
        action.add_argument("--lang", choices=LANGUAGES, default=argparse.SUPPRESS, help="language of what is printed")
    for action in (run, env):
        action.add_argument("--numerics", choices=("cpu", "ascend"), help="ascend rounds as an NPU's matrix unit does")
        action.add_argument("--fault", metavar="FAULT", help="a fault on purpose, or the file of several")
        action.add_argument("--force", action="store_true", help="even where a real CANN or driver is")
    for action in (run, env, kernel):
        action.add_argument("--devices", type=int, metavar="N", help="how many NPUs (default: 2)")


def run(args: argparse.Namespace) -> Report | int:
    devices = getattr(args, "devices", None)
    if devices is not None and not 1 <= devices <= MOST_DEVICES:
        raise WorkbookError("simulator.devices", devices=devices)
    threads = getattr(args, "threads", None)
    if threads is not None and threads < 1:
        raise WorkbookError("simulator.threads", threads=threads)
    return _ACTIONS[args.action](args)


def _build(args: argparse.Namespace) -> Report:
    started = time.monotonic()
    built = simulator.build(force=args.force)
    key = "simulator.built" if built else "simulator.up_to_date"
    seconds = round(time.monotonic() - started, 1)
    return _report(Finding("SIM001", Status.OK, key, {"path": str(simulator.location()), "seconds": seconds}))


def _status(args: argparse.Namespace) -> Report:
    stamp = simulator.stamp()
    path = str(simulator.location())
    if not stamp:
        return _report(Finding("SIM001", Status.FAIL, "simulator.absent", {"path": path}))
    versions = {name: str(stamp.get(name, "")) for name in ("torch", "torch_npu")}
    key = "simulator.up_to_date" if simulator.is_current() else "simulator.out_of_date"
    status = Status.OK if key == "simulator.up_to_date" else Status.FAIL
    return _report(Finding("SIM001", status, key, {"path": path, **versions}))


def _report(finding: Finding) -> Report:
    stamp = simulator.stamp()
    names = ("torch", "torch_npu", "cann", "compiler", "standard", "cxx11_abi", "torch_root", "torch_npu_root")
    rows = tuple((name, str(stamp[name])) for name in names if name in stamp)
    table = Table((Column("simulator_part"), Column("simulator_version")), rows)
    return Report("environment", "simulator", (finding,), table, facts={"stamp": stamp})


def _run(args: argparse.Namespace) -> int:
    """Becomes the command, so that signals and exit codes are its own."""
    command = behind(args.command)
    if not command:
        raise WorkbookError("simulator.no_command")
    environ = _environment(args)
    own = str(Path(sys.executable).parent)  # `python` is the one whose torch the simulator fits, activated or not
    environ["PATH"] = os.pathsep.join(filter(None, (own, environ.get("PATH"))))
    program = shutil.which(command[0], path=environ.get("PATH"))
    sys.stdout.flush()
    try:
        os.execve(program or command[0], command, environ)
    except OSError as error:
        raise WorkbookError("simulator.not_found", command=command[0], error=reason(error)) from error


def _environment(args: argparse.Namespace) -> dict[str, str]:
    return simulator.environment(args.devices, force=args.force, numerics=args.numerics, fault=args.fault)


def _env(args: argparse.Namespace) -> int:
    changed = {name: text for name, text in _environment(args).items() if os.environ.get(name) != text}
    for name, text in sorted(changed.items()):
        print(f"export {name}={shlex.quote(text)}")
    return 0


def _kernel(args: argparse.Namespace) -> int:
    folder = jupyter.install_kernel(args.prefix, args.devices, args.threads)
    print(say("simulator.kernel", args.lang, name=jupyter.NAME, path=str(folder)))
    return 0


def _operators(args: argparse.Namespace) -> Report:
    return operators.list_operators(simulator.location(), simulator.environment())


_ACTIONS: dict[str, Callable[[argparse.Namespace], Union[Report, int]]] = {
    "build": _build,
    "status": _status,
    "run": _run,
    "env": _env,
    "kernel": _kernel,
    "coverage": covering.run,
    "operators": _operators,
}
