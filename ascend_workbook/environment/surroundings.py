"""Reads what lies around CANN and Python: the acceleration library NNAL, NVIDIA's side, Jupyter's kernels."""

from __future__ import annotations

import json
import os
import re
from itertools import chain
from pathlib import Path
from typing import Any

from ascend_workbook.environment.machine import Kernelspec, Nnal, Nvidia
from ascend_workbook.environment.system import System, Untold

NNAL = "/usr/local/Ascend/nnal"
NVIDIA_DRIVER = "/proc/driver/nvidia/version"
PCI = "/sys/bus/pci/devices"
LARGEST_KERNEL = 64 * 1024


def read_nnal(system: System) -> Nnal:
    """Read NNAL's ATB, whose libatb.so torch_npu loads for some fused operators."""
    setting = system.environ.get("ATB_HOME_PATH", "")
    here = setting.startswith("/") and system.path_of(setting).is_dir()
    roots = (f"{NNAL}/atb/latest", *reversed(system.glob_names(f"{NNAL}/atb/[0-9]*")))
    path = next((root for root in roots if system.path_of(root).is_dir()), "")
    text = system.text_or_empty(f"{path}/version.info") or system.text_or_empty(f"{NNAL}/ascend_nnal_install.info")
    match = re.search(r"^\s*(?:[\w-]*\s*Version|version)\s*[:=]\s*([0-9][\w.]*)", text, re.MULTILINE | re.ASCII)
    return Nnal(path, match[1] if path and match else "", setting, here)


def read_nvidia(system: System) -> Nvidia:
    """Count GPUs by vendor 0x10de and class 0x03 (display, 3D), and read the driver's version from /proc."""
    gpus = 0
    for folder in system.glob_names(f"{PCI}/*"):
        vendor, kind = (system.text_or_empty(f"{folder}/{name}").strip() for name in ("vendor", "class"))
        gpus += vendor == "0x10de" and kind.startswith("0x03")
    if not system.path_of(NVIDIA_DRIVER).exists():
        return Nvidia(gpus)
    text = system.read_file(NVIDIA_DRIVER)
    if isinstance(text, Untold):
        return Nvidia(gpus, text)
    match = re.search(r"Kernel Module[^\n]*?\s(\d{3,4}\.\d+(?:\.\d+)?)\s", text, re.ASCII)
    return Nvidia(gpus, match[1] if match else Untold("untold.unreadable", {"path": NVIDIA_DRIVER}))


def read_kernelspecs(system: System) -> tuple[Kernelspec, ...]:
    """Read Jupyter's Python kernels, from the folders Jupyter looks in."""
    home = system.environ.get("HOME", "")
    prefix = str(Path(system.process.python_version()[1]).parent.parent)
    extra_folders = [
        entry for entry in system.environ.get("JUPYTER_PATH", "").split(os.pathsep) if entry.startswith("/")
    ]
    usual = [f"{base}/share/jupyter" for base in (f"{home}/.local", prefix, "/usr/local", "/usr")]
    names = (system.glob_names(f"{folder}/kernels/*/kernel.json") for folder in dict.fromkeys([*extra_folders, *usual]))
    specs = (_read_kernelspec(system, name) for name in dict.fromkeys(chain.from_iterable(names)))
    return tuple(spec for spec in specs if spec)


def _read_kernelspec(system: System, name: str) -> Kernelspec | None:
    try:
        with system.path_of(name).open("rb") as stream:
            content: Any = json.loads(stream.read(LARGEST_KERNEL))
    except (OSError, ValueError):
        return None
    argv = content.get("argv") if isinstance(content, dict) else None
    if not isinstance(argv, list) or not argv or "python" not in Path(str(argv[0])).name:
        return None
    env = content.get("env")
    variables = {str(key): str(value) for key, value in env.items()} if isinstance(env, dict) else {}
    literal = tuple(sorted(key for key, value in variables.items() if "$" in value))
    python = str(argv[0])
    here = not python.startswith("/") or system.path_of(python).exists()
    folder = name.rpartition("/kernel.json")[0]
    return Kernelspec(folder.rpartition("/")[2], folder, python, here, literal, variables.get("ASCEND_HOME_PATH", ""))
