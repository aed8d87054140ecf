"""Reads what lies around CANN and Python: the acceleration library NNAL, NVIDIA's side, Jupyter's kernels."""

from __future__ import annotations

import json
import os
import re
from itertools import chain
from pathlib import Path
from typing import Any

from helpers.environment.machine import Kernelspec, Nnal, Nvidia
from helpers.environment.system import System, Untold

NNAL = "/usr/local/Ascend/nnal"
NVIDIA_DRIVER = "/proc/driver/nvidia/version"
PCI = "/sys/bus/pci/devices"
LARGEST_KERNEL = 64 * 1024


def read_nnal(system: System) -> Nnal:
    """NNAL's ATB, whose libatb.so torch_npu loads for some fused operators."""
    told = system.environ.get("ATB_HOME_PATH", "")
    here = told.startswith("/") and system.path(told).is_dir()
    roots = (f"{NNAL}/atb/latest", *reversed(system.glob(f"{NNAL}/atb/[0-9]*")))
    path = next((root for root in roots if system.path(root).is_dir()), "")
    text = system.text(f"{path}/version.info") or system.text(f"{NNAL}/ascend_nnal_install.info")
    found = re.search(r"^\s*(?:[\w-]*\s*Version|version)\s*[:=]\s*([0-9][\w.]*)", text, re.MULTILINE | re.ASCII)
    return Nnal(path, found[1] if path and found else "", told, here)


def read_nvidia(system: System) -> Nvidia:
    """GPUs by vendor 0x10de and class 0x03 (display, 3D); the driver's version from /proc."""
    gpus = 0
    for folder in system.glob(f"{PCI}/*"):
        vendor, kind = (system.text(f"{folder}/{name}").strip() for name in ("vendor", "class"))
        gpus += vendor == "0x10de" and kind.startswith("0x03")
    if not system.path(NVIDIA_DRIVER).exists():
        return Nvidia(gpus)
    text = system.read(NVIDIA_DRIVER)
    if isinstance(text, Untold):
        return Nvidia(gpus, text)
    found = re.search(r"Kernel Module[^\n]*?\s(\d{3,4}\.\d+(?:\.\d+)?)\s", text, re.ASCII)
    return Nvidia(gpus, found[1] if found else Untold("untold.unreadable", {"path": NVIDIA_DRIVER}))


def read_kernelspecs(system: System) -> tuple[Kernelspec, ...]:
    """Jupyter's Python kernels, from the folders Jupyter looks in."""
    home = system.environ.get("HOME", "")
    prefix = str(Path(system.process.python()[1]).parent.parent)
    told = [entry for entry in system.environ.get("JUPYTER_PATH", "").split(os.pathsep) if entry.startswith("/")]
    usual = [f"{base}/share/jupyter" for base in (f"{home}/.local", prefix, "/usr/local", "/usr")]
    found = (system.glob(f"{folder}/kernels/*/kernel.json") for folder in dict.fromkeys([*told, *usual]))
    specs = (_kernelspec(system, name) for name in dict.fromkeys(chain.from_iterable(found)))
    return tuple(spec for spec in specs if spec)


def _kernelspec(system: System, name: str) -> Kernelspec | None:
    try:
        with system.path(name).open("rb") as stream:
            made: Any = json.loads(stream.read(LARGEST_KERNEL))
    except (OSError, ValueError):
        return None
    argv = made.get("argv") if isinstance(made, dict) else None
    if not isinstance(argv, list) or not argv or "python" not in Path(str(argv[0])).name:
        return None
    env = made.get("env")
    variables = {str(key): str(value) for key, value in env.items()} if isinstance(env, dict) else {}
    literal = tuple(sorted(key for key, value in variables.items() if "$" in value))
    python = str(argv[0])
    here = not python.startswith("/") or system.path(python).exists()
    folder = name.rpartition("/kernel.json")[0]
    return Kernelspec(folder.rpartition("/")[2], folder, python, here, literal, variables.get("ASCEND_HOME_PATH", ""))
