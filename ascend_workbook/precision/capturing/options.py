"""What a capture was asked for, checked before anything starts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import say
from ascend_workbook.machine import bounded
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch.spec import DRAWS
from ascend_workbook.precision.capturing import manifest

TIMEOUT_S = 10.0
#: Stands behind the commit where tracked files differ from it.
CHANGED = "+changes"


def commit_of(folder: Path) -> str:
    """`3f2a...`, with CHANGED behind it where tracked files differ; empty without git, or outside a repository."""
    head = _run_git(folder, "rev-parse", "HEAD")
    return head + (CHANGED if head and _run_git(folder, "status", "--porcelain", "--untracked-files=no") else "")


def _run_git(folder: Path, *words: str) -> str:
    try:
        done = bounded.run_bounded(["git", "-C", str(folder), *words], timeout_s=TIMEOUT_S)
    except OSError:
        return ""  # no git here: then no commit is told
    return done.stdout.strip() if done.code == 0 else ""


#: `fingerprints`: weights, batches, seeds and losses alone, without msprobe.
FINGERPRINTS = "fingerprints"
#: `debug` records what the script itself gives to PrecisionDebugger.save, and nothing else.
LEVELS, DEBUG = ("L0", "L1", "mix", "debug"), "debug"
#: `md5` is msprobe's statistics with a checksum of each tensor (of 8 hex digits, a CRC-32; its summary_mode md5).
TASKS, MD5 = ("statistics", "tensor", "md5", FINGERPRINTS), "md5"
DATA_MODES = ("all", "forward", "backward", "input", "output")
#: What msprobe takes for the ends of a scope: an API's whole name, or a module's.
API, MODULE = re.compile(r"\w+\..+\.\d+\.(forward|backward)"), re.compile(r"(Module|Cell)\..+\.(forward|backward)\.\d+")
SCOPES = {"L1": (API,), "L0": (MODULE,), "mix": (API, MODULE)}
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
    #: Of the ranks these dump; none named: all.
    ranks: tuple[int, ...] = ()
    #: First and last operator to record, by msprobe's whole names.
    scope: tuple[str, ...] = ()
    #: Only operators whose name holds one of these.
    names: tuple[str, ...] = ()
    data_mode: tuple[str, ...] = ("all",)
    #: Where random numbers are drawn, of DRAWS.
    draws: str = "device"
    rm_dropout: bool = False

    def check_options(self) -> None:
        """Raises WorkbookError naming the option that cannot be."""
        if not self.script.is_file():
            raise WorkbookError("launch.script_missing", path=str(self.script))
        known: list[tuple[str, Any, tuple[Any, ...]]] = [
            ("level", self.level, LEVELS),
            ("task", self.task, TASKS),
            ("draws", self.draws, DRAWS),
            *(("settings", name, SETTINGS) for name in self.settings),
            *(("dump_steps", step, tuple(range(self.steps))) for step in self.dump_steps or (None,)),
            *(("ranks", rank, tuple(range(self.nproc))) for rank in self.ranks),
            *(("data_mode", mode, DATA_MODES) for mode in self.data_mode),
        ]
        for name, value, allowed in known:
            if value not in allowed:
                raise WorkbookError("precision.option", name=name, value=value, known=list(allowed))
        self._check_scope()

    def _check_scope(self) -> None:
        if self.level == DEBUG and (self.scope or self.names or self.data_mode != ("all",)):
            raise WorkbookError("precision.debug_selects")
        kinds = SCOPES.get(self.level, ())
        whole = all(any(kind.fullmatch(name) for kind in kinds) for name in self.scope)
        if self.scope and (len(self.scope) != 2 or not whole):
            raise WorkbookError("precision.scope", scope=list(self.scope), level=self.level)

    @property
    def selection(self) -> dict[str, object]:
        """Return what of a step is recorded, where not all; for the manifest."""
        modes = [mode for mode in self.data_mode if mode != "all"]
        selected = {"ranks": self.ranks, "scope": self.scope, "list": self.names, "data_mode": modes}
        return {name: list(value) for name, value in selected.items() if value}

    @property
    def randomness(self) -> dict[str, object]:
        """Return what was asked of random numbers, where anything was; for the manifest."""
        asked: dict[str, object] = {"draws": self.draws} if self.draws != DRAWS[0] else {}
        return {**asked, "rm_dropout": True} if self.rm_dropout else asked

    def msprobe_config(self, dump: Path) -> dict[str, object]:
        """msprobe's configuration file. It knows ranks of a process group only; steps are chosen by the capture, which
        counts attempts at an update as it does."""
        task = "statistics" if self.task == MD5 else self.task
        selected = {"scope": list(self.scope), "list": list(self.names), "data_mode": list(self.data_mode)}
        own = {**selected, **({"summary_mode": self.task} if task == "statistics" else {})}
        ranks = list(self.ranks) if self.nproc > 1 else []
        steps = list(self.dump_steps) if self.level == DEBUG else []
        return {"task": task, "dump_path": str(dump), "rank": ranks, "step": steps, "level": self.level, task: own}

    def check_tier(self, tier: str) -> None:
        """A fault that is never injected would make a run look healthy that was meant to be sick."""
        if tier != "npu-simulated" and any("_SIM_" in name and value for name, value in self.settings.items()):
            raise WorkbookError("precision.fault_needs_simulator", tier=tier)

    def describe_capture(self, device: Device, environment: Mapping[str, str]) -> dict[str, Any]:
        """For the manifest; `settings` are those in force, the inherited ones too."""
        root = self.script.resolve().parent
        force = {name: environment[name] for name in SETTINGS if environment.get(name)}
        script = {"script": self.script.name, "root": str(root), "script_sha256": manifest.hash_file(self.script)}
        run = {"args": list(self.args), "commit": commit_of(root), "steps": self.steps}
        run |= {"dump_steps": list(self.dump_steps), "level": self.level, "task": self.task, "seed": self.seed}
        rest = {"limit_mib": self.limit_mib, "settings": force, "nproc": self.nproc}
        rest |= {**self.selection, **self.randomness}
        return {**script, **run, **rest, "tier": device.tier, "device": device.name, "versions": device.versions}


def check_room(folder: Path, limit_mib: int, tier: str, tell: Callable[[str], None] | None) -> None:
    """Say how much may be written; raises WorkbookError where the disk has less."""
    free_mib = shutil.disk_usage(folder).free // MIB
    if limit_mib > free_mib:
        raise WorkbookError("precision.no_room", limit_mib=limit_mib, free_mib=free_mib, path=str(folder))
    if tell:
        tell(say("precision.told.room", None, tier=tier, limit_mib=limit_mib, free_mib=free_mib))
