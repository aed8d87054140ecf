"""Puts the facts together: the slow questions (children, npu-smi) are asked at the same time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from ascend_workbook.environment import collectives, hardware, host, software, surroundings
from ascend_workbook.environment.machine import Machine
from ascend_workbook.environment.system import System


def probe(wanted: str = "auto", *, work_folder: str | os.PathLike[str] = ".", system: System | None = None) -> Machine:
    """Gather the facts of this machine.

    `work_folder` is where runs are written. Raises WorkbookError `device.unknown` for a wrong `wanted`.
    """
    system = system or System()
    with ThreadPoolExecutor(2) as pool:
        devices = pool.submit(hardware.read_hardware, system)
        if system.find_tool("npu-smi"):
            wait([devices])  # before the children: npu-smi would show them as processes that hold the NPU
        children = pool.submit(software.ask_torch_and_device, system, wanted)
        facts = read_files(system, work_folder)
        imported, chosen = children.result()
        return Machine(python=software.read_python(system, imported), chosen=chosen, hardware=devices.result(), **facts)


def read_files(system: System, work_folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the facts that take no child of Python: of all these only set_env.sh is run, by bash."""
    return {
        "host": host.read_host(system, work_folder),
        "cann": hardware.find_cann_roots(system, system.environ),
        "nnal": surroundings.read_nnal(system),
        "hccl": collectives.read_hccl(system),
        "nvidia": surroundings.read_nvidia(system),
        "kernelspecs": surroundings.read_kernelspecs(system),
        "simulator": system.process.simulator_folder(),
        "environ": software.allowed_variables(system.environ),
        "started": software.read_start_variables(system),
    }
