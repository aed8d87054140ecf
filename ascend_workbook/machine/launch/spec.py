"""What to launch and how, checked before anything starts."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine.device import Device, child_environment
from ascend_workbook.machine.sandbox import Enclosure
from ascend_workbook.redaction.exits import redact_words
from ascend_workbook.redaction.known import SECRET_NAME, remember_arguments

TRANSFORMS = ("none", "baseline_cpu", "transfer_to_npu")
#: Where random numbers of the device are drawn.
DRAWS = ("device", "host")
#: How an unmodified GPU script gets to a device, by torch's name of its type
TRANSFORM_TO = {"npu": "transfer_to_npu", "cuda": "none", "cpu": "baseline_cpu"}
#: What the child reads as it stands here.
AS_THEY_ARE = (
    *("transform", "steps", "seed", "deterministic", "grad_norm", "counts_only"),
    *("tier", "simulated", "draws", "rm_dropout"),
)
#: What a run with baseline_cpu is called wherever it is shown.
STANDING_IN = "cpu standing in for cuda"


@dataclass(frozen=True)
class Plugin:
    """A file that rides in the child (see child/observer.py) and its JSON configuration.

    early: a process that the script spawns has it from its start, not from its first optimiser on."""

    path: Path
    config: Mapping[str, object] = field(default_factory=dict)
    early: bool = False


@dataclass(frozen=True)
class LaunchSpec:
    """One launch. Exactly one of `script` and `module` is given.

    out: folder for gpulog.json, output.log and what plugins write; logs of an earlier launch there are removed.
    cwd: the script's working folder, by default this process's.
    env: the complete environment (device.child_environment), by default this process's.
    nproc: processes under torchrun; 1 starts the script directly.
    steps: stop after so many; None lets the script end by itself.
    seed, deterministic: set before the script begins; its own seeding comes after and wins.
    loss_regex: takes the losses from the output instead, one per match of the group `loss` (or the first
        group); a group `step` numbers them.
    tier, simulated: of the device the child will see, for the log.
    grad_norm: False saves the norm's kernels where a profile must not show them.
    counts_only: steps are counted, not listed, and their numbers are left to a plugin: for runs of any length.
    mirror: a folder whose links to the user's files go even where the launcher is killed.
    enclosure: what the script may do outside `out`, which is always writable; None runs it as it is.
    draws: "host" makes torch's random numbers on the host, the same for every device (child/draws.py).
    rm_dropout: no dropout, of layers, attention and recurrent networks.
    """

    out: Path
    script: Path | None = None
    module: str | None = None
    args: Sequence[str] = ()
    cwd: Path | None = None
    python: str = sys.executable
    nproc: int = 1
    env: Mapping[str, str] | None = None
    transform: str = "none"
    steps: int | None = None
    seed: int | None = None
    deterministic: bool = False
    loss_regex: str | None = None
    timeout_s: float | None = None
    plugins: Sequence[Plugin] = ()
    grad_norm: bool = True
    counts_only: bool = False
    tier: str = "cpu"
    simulated: bool = False
    mirror: Path | None = None
    enclosure: Enclosure | None = None
    draws: str = "device"
    rm_dropout: bool = False

    def __post_init__(self) -> None:
        remember_arguments(self.args)

    def on(self, device: Device) -> LaunchSpec:
        """Return the spec for an unmodified GPU script on this device; an `env` that was given stays."""
        env = child_environment(device.tier) if self.env is None else self.env
        transform = TRANSFORM_TO[device.accelerator]
        return replace(self, env=env, transform=transform, tier=device.tier, simulated=device.simulated)

    def check_fields(self) -> None:
        """Raise WorkbookError naming the field that cannot be."""
        if (self.script is None) == (self.module is None):
            raise WorkbookError("launch.one_target")
        if self.script is not None and not self.script.is_file():
            raise WorkbookError("launch.script_missing", path=str(self.script))
        if self.cwd is not None and not self.cwd.is_dir():
            raise WorkbookError("launch.cwd_missing", path=str(self.cwd))
        if shutil.which(self.python) is None:
            raise WorkbookError("launch.python_missing", path=self.python)
        if self.transform not in TRANSFORMS:
            raise WorkbookError("launch.transform_unknown", given=self.transform, known=list(TRANSFORMS))
        if self.transform == "baseline_cpu" and self.tier != "cpu":
            raise WorkbookError("launch.baseline_tier", tier=self.tier)
        if self.draws not in DRAWS:
            raise WorkbookError("launch.draws_unknown", given=self.draws, known=list(DRAWS))
        for name, value in (("steps", self.steps), ("nproc", self.nproc)):
            if value is not None and value < 1:
                raise WorkbookError("launch.not_positive", name=name, value=value)
        for plugin in self.plugins:
            if not plugin.path.is_file():
                raise WorkbookError("launch.plugin_missing", path=str(plugin.path))
        if self.loss_regex is None:
            return
        try:
            groups = re.compile(self.loss_regex).groups
        except re.error as error:
            raise WorkbookError("launch.bad_regex", regex=self.loss_regex, why=str(error)) from error
        if not groups:
            raise WorkbookError("launch.bad_regex", regex=self.loss_regex, why="no (group)")

    def for_child(self) -> dict[str, object]:
        """Return the JSON that child/observe.py reads. All paths are absolute: the child works in another folder.

        Its arguments come on its own command line; here stands how they may be shown, and the variables to be hidden.
        """
        return {
            "script": None if self.script is None else str(self.script.absolute()),
            "module": self.module,
            "shown_args": redact_words(self.args),
            "secret_names": sorted(name for name in self.env or os.environ if SECRET_NAME.search(name)),
            "out": str(self.out.absolute()),
            "plugins": [
                {"path": str(plugin.path.absolute()), "config": dict(plugin.config), "early": plugin.early}
                for plugin in self.plugins
            ],
            **{name: getattr(self, name) for name in AS_THEY_ARE},
        }
