"""What a capture was asked for, checked before anything starts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.device import Device
from helpers.errors import WorkbookError
from helpers.precision import manifest
from helpers.precision.commit import commit_of

#: `fingerprints`: weights, batches, seeds and losses alone, without msprobe.
FINGERPRINTS = "fingerprints"
LEVELS, TASKS = ("L0", "L1", "mix"), ("statistics", "tensor", FINGERPRINTS)
#: What a caller may set in the child's environment: noise and faults of the simulator, and threads.
SETTINGS = ("ASCEND_WORKBOOK_SIM_FAULT", "ASCEND_WORKBOOK_SIM_NUMERICS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
MIB = 1 << 20


@dataclass(frozen=True)
class Options:
    """`dump_steps` are counted from 0 and lie below `steps`; `limit_mib` bounds what is written."""

    script: Path
    args: tuple[str, ...]
    steps: int
    dump_steps: tuple[int, ...]
    level: str
    task: str
    seed: int
    limit_mib: int
    settings: Mapping[str, str]
    nproc: int

    def check(self) -> None:
        """Raises WorkbookError naming the option that cannot be."""
        if not self.script.is_file():
            raise WorkbookError("launch.script_missing", path=str(self.script))
        known: list[tuple[str, Any, tuple[Any, ...]]] = [
            ("level", self.level, LEVELS), ("task", self.task, TASKS),
            *(("settings", name, SETTINGS) for name in self.settings),
            *(("dump_steps", step, tuple(range(self.steps))) for step in self.dump_steps or (None,)),
        ]  # fmt: skip
        for name, value, allowed in known:
            if value not in allowed:
                raise WorkbookError("precision.option", name=name, value=value, known=list(allowed))

    def check_tier(self, tier: str) -> None:
        """A fault that is never injected would make a run look healthy that was meant to be sick."""
        if tier != "npu-simulated" and any("_SIM_" in name and value for name, value in self.settings.items()):
            raise WorkbookError("precision.fault_needs_simulator", tier=tier)

    def about(self, device: Device, environment: Mapping[str, str]) -> dict[str, Any]:
        """For the manifest; `settings` are those in force, the inherited ones too."""
        script = {"script": self.script.name, "root": str(self.script.resolve().parent)}
        hashed = {"script_sha256": manifest.digest(self.script), "args": list(self.args),
                  "commit": commit_of(self.script.resolve().parent)}  # fmt: skip
        run = {"steps": self.steps, "dump_steps": list(self.dump_steps), "level": self.level, "task": self.task}
        force = {name: environment[name] for name in SETTINGS if environment.get(name)}
        rest = {"seed": self.seed, "limit_mib": self.limit_mib, "settings": force, "nproc": self.nproc}
        return {**script, **hashed, **run, **rest, "tier": device.tier, "device": device.name,
                "versions": device.versions}  # fmt: skip


def room(folder: Path, limit_mib: int, tier: str, tell: Callable[[str], None] | None) -> None:
    """Says how much may be written; raises WorkbookError where the disk has less."""
    free_mib = shutil.disk_usage(folder).free // MIB
    if limit_mib > free_mib:
        raise WorkbookError("precision.no_room", limit_mib=limit_mib, free_mib=free_mib, path=str(folder))
    if tell:
        tell(f"{tier}: at most {limit_mib} MiB of {free_mib} MiB free")
