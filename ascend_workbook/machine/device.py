"""Which accelerator is here, and why the better ones are not.

Tiers: `npu` (a real one), `npu-simulated`, `cuda`, `cpu`. Nothing is imported in this process: a broken
torch_npu breaks `import torch`, so each question is put to a child with a time limit.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError, explain_os_error
from ascend_workbook.findings.report import TIERS
from ascend_workbook.findings.sentence import Sentence, restore_sentence
from ascend_workbook.machine import bounded, cann, simulator

TIMEOUT_S = 120.0
PROBE = Path(__file__).with_name("device_probe.py")

#: How many devices the simulator shows, and how many where nobody asks.
SIM_DEVICES, SIMULATED_DEVICES = "ASCEND_WORKBOOK_SIM_DEVICES", 2


@dataclass(frozen=True)
class Device:
    """What was found: tier, its name (`Ascend910B2`), how many, and for each better tier why it is not here."""

    tier: str
    name: str
    count: int
    versions: dict[str, str] = field(default_factory=dict)
    why_not: dict[str, Sentence] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        return self.tier == "npu-simulated"

    @property
    def accelerator(self) -> str:
        """Return the torch device type: `npu`, `cuda` or `cpu`."""
        return "npu" if self.tier.startswith("npu") else self.tier


#: (tier, python) -> what that tier's child answers: `ask_tier`, or one that keeps the answers.
Ask = Callable[[str, str], "dict[str, Any]"]


def find(wanted: str = "auto", *, python: str = sys.executable, ask: Ask | None = None) -> Device:
    """Return the best tier that is here, or exactly the one asked for; `ask` puts the question to a tier.

    Raises WorkbookError `device.absent` with the reason where the tier asked for is not here: `npu` never
    falls back to a simulated one. Of `auto` the reason is the CPU's, which only a missing or broken torch rules out.
    """
    if wanted != "auto" and wanted not in TIERS:
        raise WorkbookError("device.unknown", wanted=wanted)
    return _find_first(TIERS if wanted == "auto" else (wanted,), wanted, python, ask or ask_tier)


def find_baseline(wanted: str = "auto", *, python: str = sys.executable) -> Device:
    """Return the device a GPU script is compared on: CUDA, else the CPU standing in for it."""
    if wanted not in ("auto", "cuda", "cpu"):
        raise WorkbookError("device.unknown", wanted=wanted)
    if wanted != "auto":
        return find(wanted, python=python)
    return _find_first(("cuda", "cpu"), "cpu", python, ask_tier)


def _find_first(tiers: Sequence[str], wanted: str, python: str, ask: Ask) -> Device:
    why_not: dict[str, Sentence] = {}
    cpu: dict[str, Any] = {}
    for tier in tiers:
        answer = cpu if tier == "cpu" and cpu else ask(tier, python)
        cpu = answer.get("cpu", cpu)
        if "why" not in answer:
            return Device(tier, answer["name"], answer["count"], answer["versions"], why_not)
        why_not[tier] = answer["why"]
    raise WorkbookError("device.absent", wanted=wanted, why=why_not.get(wanted, why_not[tier]))


def child_environment(tier: str, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment a child needs to see the tier's device.

    In interactive Python torch_npu overwrites TASK_QUEUE_ENABLE with 0 (its optional_features.py), and a child
    would inherit that: it gets the value this process was started with.
    """
    clean = cann.without_simulator(os.environ if base is None else base)
    clean.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    if hasattr(sys, "ps1") or "ipykernel" in sys.modules:
        clean.pop("TASK_QUEUE_ENABLE", None)
        clean.update(_started_with("TASK_QUEUE_ENABLE"))
    if tier == "npu-simulated":
        return simulator.simulator_environment(base=clean)
    if tier == "npu":
        here = cann.find_cann(clean)
        if here and not here.sourced:
            return cann.sourced_environment(here.root, clean) or clean
        return clean
    clean["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    return clean


def show_devices(environment: Mapping[str, str], count: int) -> dict[str, str]:
    """Return the environment in which the simulator shows at least so many devices: a rank needs one of its own."""
    shown = int(environment.get(SIM_DEVICES) or SIMULATED_DEVICES)
    return {**environment, SIM_DEVICES: str(max(count, shown))} if count > shown else dict(environment)


def ask_tier(tier: str, python: str = sys.executable) -> dict[str, Any]:
    """Return {"name", "count", "versions"} of the tier's device, or {"why"}; for cuda with the CPU's beside."""
    early = cannot_be(tier)
    if early:
        return {"why": early}
    try:
        done = bounded.run_bounded([python, str(PROBE), tier], env=child_environment(tier), timeout_s=TIMEOUT_S)
    except OSError as error:
        failure = Sentence("command.file", path=python, error=explain_os_error(error))
        return {"why": Sentence("device.why.import", error=failure)}
    if done.timed_out:
        return {"why": Sentence("device.why.timeout", seconds=f"{TIMEOUT_S:g}")}
    try:
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {"why": Sentence("device.why.import", error=done.last_error)}
    return {name: restore_sentence(value) for name, value in answer.items()}


def cannot_be(tier: str) -> Sentence | None:
    """Return reasons that need no child: a missing CANN or simulator."""
    if tier == "npu":
        here = cann.find_cann(cann.without_simulator(os.environ))
        if here is None:
            active = cann.find_cann()
            return Sentence("device.why.not_real" if active and active.simulated else "device.why.no_cann")
    if tier == "npu-simulated":
        if not simulator.is_built():
            return Sentence("device.why.no_simulator")
        real = simulator.real_cann(cann.without_simulator(os.environ))
        return Sentence("device.why.real_cann", path=real) if real else None
    return None


def _started_with(name: str) -> dict[str, str]:
    """Return the variable as this process began with it (Linux); empty where it was not set or cannot be told."""
    try:
        items = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    values = [os.fsdecode(item).partition("=")[2] for item in items if item.startswith(os.fsencode(f"{name}="))]
    return {name: values[0]} if values else {}
