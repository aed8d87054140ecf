"""Puts the facts together: the slow questions (children, npu-smi) are asked at the same time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from helpers import simulator
from helpers.environment import hardware, host, software
from helpers.environment.machine import Machine
from helpers.environment.system import System


def probe(wanted: str = "auto", *, work_folder: str | os.PathLike[str] = ".", system: System | None = None) -> Machine:
    """The facts of this machine.

    `work_folder` is where runs are written. Raises WorkbookError `device.unknown` for a wrong `wanted`.
    """
    system = system or System()
    with ThreadPoolExecutor(3) as pool:
        chosen = pool.submit(software.choose, wanted)
        python = pool.submit(software.read_python, system, Path.cwd())
        devices = pool.submit(hardware.read_hardware, system)
        return Machine(
            host=host.read_host(system, work_folder),
            python=python.result(),
            chosen=chosen.result(),
            hardware=devices.result(),
            cann=hardware.cann_roots(system, system.environ),
            simulator=str(simulator.location()) if simulator.is_built() else "",
            environ=software.allowed(system.environ),
            started=software.started_with(system),
        )
