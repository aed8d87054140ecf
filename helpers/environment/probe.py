"""Puts the facts together: the slow questions (children, npu-smi) are asked at the same time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from helpers.environment import hardware, host, software
from helpers.environment.machine import Machine
from helpers.environment.system import System


def probe(wanted: str = "auto", *, work_folder: str | os.PathLike[str] = ".", system: System | None = None) -> Machine:
    """The facts of this machine.

    `work_folder` is where runs are written. Raises WorkbookError `device.unknown` for a wrong `wanted`.
    """
    system = system or System()
    with ThreadPoolExecutor(2) as pool:
        children = pool.submit(software.torch_and_device, system, wanted)
        devices = pool.submit(hardware.read_hardware, system)
        found = host.read_host(system, work_folder)
        roots = hardware.cann_roots(system, system.environ)
        imported, chosen = children.result()
        return Machine(
            host=found,
            python=software.read_python(system, Path.cwd(), imported),
            chosen=chosen,
            hardware=devices.result(),
            cann=roots,
            simulator=system.process.simulator(),
            environ=software.allowed(system.environ),
            started=software.started_with(system),
        )
