"""Reads Python, its packages, this process's variables, the device tier, Jupyter's kernels, NNAL and NVIDIA's side.

Torch is imported in child processes only.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

from ascend_workbook.environment.machine import Chosen, Import, Kernelspec, Nnal, Nvidia, Python
from ascend_workbook.environment.system import System, Told, Untold, read_variables
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.machine import device

IMPORT_TIMEOUT_S = 120.0
#: What a report may quote. Only names in this list are ever read, so that no key or token gets into a report.
VARIABLES = read_variables("shown")
#: Folders of these names in the working folder are imported instead of the packages.
SHADOWING = ("torch", "torch_npu", "te", "tbe", "apex", "acl", "hccl")


def allowed_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables a report may show."""
    return {name: environ[name] for name in VARIABLES if name in environ}


def read_start_variables(system: System) -> Told[dict[str, str]]:
    """Return the variables this process began with; later changes of os.environ do not reach the loader."""
    text = system.read_file("/proc/self/environ")
    if isinstance(text, Untold):
        return text
    return allowed_variables(dict(item.split("=", 1) for item in text.split("\0") if "=" in item))


def read_python(system: System, torch_import: Told[Import]) -> Python:
    """Read the interpreter that runs this, which is also the one children are started with."""
    version, executable = system.process.python_version()
    cwd = system.process.working_folder()
    return Python(
        version=version,
        executable=executable,
        packages=system.process.installed_packages(),
        torch_npu_folder=system.process.module_folder("torch_npu"),
        torch_import=torch_import,
        shadows=tuple(name for name in SHADOWING if (cwd / name).is_dir() or (cwd / f"{name}.py").is_file()),
        interactive=system.process.is_interactive(),
    )


def ask_torch_and_device(system: System, wanted: str) -> tuple[Told[Import], Chosen]:
    """Find out side by side whether `import torch` works as things stand, and which device tier is here.

    Where no torch_npu is in this environment and no NPU in question, one child answers both: importing torch is what
    the time goes into. Raises WorkbookError `device.unknown` for a word that names no tier.
    """
    if _one_child_is_enough(system, wanted):
        answer = system.process.ask_tier("cuda")
        if "cuda" in answer:
            answers = {"cpu": answer["cpu"], "cuda": answer}  # the tiers above are ruled out without a child
            chosen = choose_tier(wanted, lambda tier, python: answers.get(tier) or system.process.ask_tier(tier))
            return Import(torch=answer["cpu"]["versions"]["torch"], cuda=answer["cuda"]), chosen
    with ThreadPoolExecutor(1) as pool:
        here = pool.submit(import_torch, system)
        chosen = choose_tier(wanted, lambda tier, python: system.process.ask_tier(tier))
        return here.result(), chosen


def _one_child_is_enough(system: System, wanted: str) -> bool:
    """Return whether this environment is also that of the tier's child, and the tier is CUDA or the CPU."""
    process, environ = system.process, system.environ
    if process.module_folder("torch_npu") or environ.get("ASCEND_WORKBOOK_SIMULATED"):
        return False
    return wanted in ("cuda", "cpu") or (
        wanted == "auto" and process.cannot_be("npu") and process.cannot_be("npu-simulated")
    )


def import_torch(system: System, *, timeout_s: float = IMPORT_TIMEOUT_S) -> Told[Import]:
    """Import torch in a child, in the environment as it stands: a broken torch_npu breaks it."""
    done = system.process.import_torch(system.environ, timeout_s)
    if done.timed_out:
        return Untold("untold.timeout", {"tool": "import torch", "seconds": f"{timeout_s:g}"})
    try:
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        return Import(**{**answer, "chain": tuple(answer.get("chain", ()))})
    except (ValueError, IndexError, TypeError):
        why = f"signal {-done.code}" if done.code < 0 else done.last_error
        return Import(ok=False, error=why, chain=(why,))


def choose_tier(wanted: str, ask: device.Ask | None = None) -> Chosen:
    """Choose the device tier. Raises WorkbookError `device.unknown` for a word that names none."""
    try:
        tier_found = device.find(wanted, ask=ask)
    except WorkbookError as error:
        if error.key != "device.absent":
            raise
        why = error.arguments["why"]
        return Chosen(wanted, "", count=0, why=why if isinstance(why, Sentence) else None)
    return Chosen(wanted, tier_found.tier, tier_found.name, tier_found.count, tier_found.versions, tier_found.why_not)


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
    listed = system.environ.get("JUPYTER_PATH", "").split(os.pathsep)
    extra_folders = [entry for entry in listed if entry.startswith("/")]
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
