"""Which accelerator is here, and why the better ones are not.

Tiers: `npu` (a real one), `npu-simulated`, `cuda`, `cpu`. Nothing is imported in this process: a broken
torch_npu breaks `import torch`, so each question is put to a child with a time limit.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers import bounded, cann, simulator
from helpers.errors import WorkbookError, reason
from helpers.report import TIERS
from helpers.words import Scalar

TIMEOUT_S = 120.0
PROBE = Path(__file__).with_name("device_probe.py")


@dataclass(frozen=True)
class Device:
    """What was found: tier, its name (`Ascend910B2`), how many, and for each better tier why it is not here."""

    tier: str
    name: str
    count: int
    versions: dict[str, str] = field(default_factory=dict)
    why_not: dict[str, dict[str, Scalar]] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        return self.tier == "npu-simulated"

    @property
    def accelerator(self) -> str:
        """The torch device type: `npu`, `cuda` or `cpu`."""
        return "npu" if self.tier.startswith("npu") else self.tier


#: (tier, python) -> what that tier's child answers: `_ask`, or one that keeps the answers.
Ask = Callable[[str, str], "dict[str, Any]"]


def find(wanted: str = "auto", *, python: str = sys.executable, ask: Ask | None = None) -> Device:
    """The best tier that is here, or exactly the one asked for; `ask` puts the question to a tier.

    Raises WorkbookError `device.absent` with the reason where the tier asked for is not here: `npu` never
    falls back to a simulated one.
    """
    if wanted != "auto" and wanted not in TIERS:
        raise WorkbookError("device.unknown", wanted=wanted)
    why_not: dict[str, dict[str, Scalar]] = {}
    cpu: dict[str, Any] = {}
    for tier in TIERS if wanted == "auto" else (wanted,):
        answer = cpu if tier == "cpu" and cpu else (ask or _ask)(tier, python)
        cpu = answer.get("cpu", cpu)
        if "why" not in answer:
            return Device(tier, answer["name"], answer["count"], answer["versions"], why_not)
        why_not[tier] = answer["why"]
    raise WorkbookError("device.absent", wanted=wanted, why=why_not[wanted])


def baseline(wanted: str = "auto", *, python: str = sys.executable) -> Device:
    """What a GPU script is compared against: CUDA, else the CPU standing in for it."""
    if wanted not in ("auto", "cuda", "cpu"):
        raise WorkbookError("device.unknown", wanted=wanted)
    if wanted != "auto":
        return find(wanted, python=python)
    cuda = _ask("cuda", python)
    if "why" not in cuda:
        return Device("cuda", cuda["name"], cuda["count"], cuda["versions"])
    cpu = cuda.get("cpu") or _ask("cpu", python)
    if "why" in cpu:
        raise WorkbookError("device.absent", wanted="cpu", why=cpu["why"])
    return Device("cpu", cpu["name"], cpu["count"], cpu["versions"], {"cuda": cuda["why"]})


def child_environment(tier: str, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment a child needs to see the tier's device.

    In interactive Python torch_npu overwrites TASK_QUEUE_ENABLE with 0 (its optional_features.py), and a child
    would inherit that: it gets the value this process was started with.
    """
    clean = cann.without_simulator(os.environ if base is None else base)
    clean.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    if hasattr(sys, "ps1") or "ipykernel" in sys.modules:
        clean.pop("TASK_QUEUE_ENABLE", None)
        clean.update(_started_with("TASK_QUEUE_ENABLE"))
    if tier == "npu-simulated":
        return simulator.environment(base=clean)
    if tier == "npu":
        here = cann.find(clean)
        if here and not here.sourced:
            return cann.sourced_environment(here.root, clean) or clean
        return clean
    clean["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    return clean


def ask(tier: str, python: str = sys.executable) -> dict[str, Any]:
    """{"name", "count", "versions"} of the tier's device, or {"why"}; the answer for cuda tells of the CPU too."""
    return _ask(tier, python)


def _ask(tier: str, python: str) -> dict[str, Any]:
    early = cannot_be(tier)
    if early:
        return {"why": early}
    try:
        done = bounded.run([python, str(PROBE), tier], env=child_environment(tier), timeout_s=TIMEOUT_S)
    except OSError as error:
        told = {"say": "command.file", "args": {"path": python, "error": reason(error)}}
        return {"why": {"say": "device.why.import", "args": {"error": told}}}
    if done.timed_out:
        return {"why": {"say": "device.why.timeout", "args": {"seconds": f"{TIMEOUT_S:g}"}}}
    try:
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {"why": {"say": "device.why.import", "args": {"error": done.last_error}}}
    return answer


def cannot_be(tier: str) -> dict[str, Scalar] | None:
    """Reasons that need no child: a missing CANN or simulator."""
    if tier == "npu":
        here = cann.find(cann.without_simulator(os.environ))
        if here is None:
            active = cann.find()
            return {"say": "device.why.not_real" if active and active.simulated else "device.why.no_cann"}
    if tier == "npu-simulated" and not simulator.is_built():
        return {"say": "device.why.no_simulator"}
    if tier == "npu-simulated":
        real = simulator.real_cann(cann.without_simulator(os.environ))
        return {"say": "device.why.real_cann", "args": {"path": real}} if real else None
    return None


def _started_with(name: str) -> dict[str, str]:
    """The variable as this process began with it (Linux); empty where it was not set or cannot be told."""
    try:
        items = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    found = [os.fsdecode(item).partition("=")[2] for item in items if item.startswith(os.fsencode(f"{name}="))]
    return {name: found[0]} if found else {}
