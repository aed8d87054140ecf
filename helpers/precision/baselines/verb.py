"""`baseline`: records on a GPU what a run elsewhere is to be held against, as a small bundle; on a CPU it says so."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from helpers import bounded
from helpers import device as devices
from helpers.device import Device
from helpers.errors import WorkbookError
from helpers.launch import LaunchResult, LaunchSpec, Plugin, launch
from helpers.precision.baselines import timing
from helpers.precision.baselines.bundle import NAME, Bundle, listed
from helpers.precision.baselines.packing import packed, redactor, without_credentials
from helpers.precision.baselines.rows import report
from helpers.precision.baselines.writing import refuse_taken, write
from helpers.precision.capture import capture
from helpers.precision.capturing.failing import check_ran
from helpers.precision.capturing.options import FINGERPRINTS
from helpers.redaction import Redactor
from helpers.report import Report
from helpers.storage import is_address
from helpers.words import say

MEMORY = Path(__file__).parents[1] / "child" / "memory_plugin.py"
TIERS = ("baseline", "cuda", "cpu")
HAS_MSPROBE = "import importlib.util as found, sys; sys.exit(found.find_spec('msprobe') is None)"
RUN = ("script", "script_sha256", "steps", "dump_steps", "level", "seed", "nproc")


@dataclass(frozen=True)
class Timed:
    """How the second run is made: `steps` (0: to the script's end), of which the first `warmup` are left out."""

    steps: int
    warmup: int
    samples: int | None

    def told(self, tier: str) -> str:
        """What is said before the run."""
        return say("baseline.told.timed" if self.steps else "baseline.told.whole", None, tier=tier, steps=self.steps)

    def check(self) -> None:
        """Raises WorkbookError naming the number that cannot be."""
        for name, value, least in (("timing_steps", self.steps, 0), ("warmup", self.warmup, 0),
                                   ("samples_per_step", 1 if self.samples is None else self.samples, 1)):  # fmt: skip
            if value < least:
                raise WorkbookError("baseline.number", name=name, given=value, least=least)


def baseline(
    script: str | Path,
    args: Sequence[str] = (),
    *,
    out: str | Path,
    device: str = "baseline",
    steps: int = 4,
    dump_steps: str | Sequence[int] | None = None,
    level: str = "L1",
    seed: int = 1234,
    statistics: bool = True,
    timing_steps: int = 20,
    warmup: int = 3,
    samples_per_step: int | None = None,
    nproc: int = 1,
    limit_mib: int = 1024,
    cwd: str | Path | None = None,
    python: str = sys.executable,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Runs the script twice: `steps` steps with operators' statistics of `dump_steps` (default: the first two and the
    last) recorded and everything made deterministic, then `timing_steps` steps as it is (0: to its end, so that its
    final metric is known), for speed and memory. `out` is a new .zip file or folder,
    here or in object storage (obs://).

    `device` is baseline (CUDA, else the CPU in its place), cuda or cpu. `statistics=False` records all but them and
    needs no msprobe; torch_npu is never needed. Raises WorkbookError where a run fails or `out` is there already.
    """
    target = str(out) if is_address(out) else Path(out).absolute()
    timed = Timed(timing_steps, warmup, samples_per_step)
    timed.check()
    refuse_taken(target)
    if device not in TIERS:
        raise WorkbookError("precision.option", name="device", value=device, known=list(TIERS))
    if statistics and bounded.run([python, "-c", HAS_MSPROBE], timeout_s=60).code:
        raise WorkbookError("baseline.no_msprobe", python=python)
    found = devices.baseline("auto" if device == "baseline" else device, python=python)
    chosen = sorted({0, min(1, steps - 1), steps - 1}) if dump_steps is None else dump_steps
    with tempfile.TemporaryDirectory(prefix="baseline-") as aside:
        folder = Path(aside).resolve()
        recorded = capture(
            script, args, out=folder / "recorded", device=found.tier, steps=steps, dump_steps=chosen, level=level,
            task="statistics" if statistics else FINGERPRINTS, seed=seed, nproc=nproc, limit_mib=limit_mib, cwd=cwd,
            python=python, progress=progress,
        )  # fmt: skip
        if progress:
            progress(timed.told(found.tier))
        second = _timed(Path(script), args, folder / "timed", found, timed, seed, nproc, cwd, python)
        files = packed(folder / "recorded")
        bundle = _bundle(recorded, second, found, timed, files, redactor(Path(script).absolute().parent))
        size = write(target, bundle, files)
        why = found.why_not.get("cuda", {"say": "baseline.asked"})
        return report(bundle, recorded, second, target, size, asked=device, why=why)


def _timed(script: Path, args: Sequence[str], out: Path, found: Device, timed: Timed, seed: int, nproc: int,
           cwd: str | Path | None, python: str) -> LaunchResult:  # fmt: skip
    """Nothing rides along but the memory's reader: no msprobe, no determinism, no gradient norm."""
    result = launch(LaunchSpec(
        out=out, script=script, args=tuple(map(str, args)), cwd=Path(cwd) if cwd else None, python=python, nproc=nproc,
        steps=timed.steps or None, seed=seed, plugins=[Plugin(MEMORY, {"accelerator": found.accelerator})],
        grad_norm=False,
    ).on(found))  # fmt: skip
    if result.trouble is not None:
        kept = Path(tempfile.gettempdir()) / f"baseline-output-{out.parent.name.rpartition('-')[2]}.log"
        shutil.copyfile(result.output_path, kept)
        check_ran(result, found.tier, kept)
    return result


def _bundle(
    recorded: Report, second: LaunchResult, found: Device, timed: Timed, files: dict[str, bytes], private: Redactor
) -> Bundle:
    """Raises WorkbookError where a credential would be in it."""
    about: dict[str, Any] = recorded.facts
    bundle = Bundle(
        recorded=datetime.now(timezone.utc).date().isoformat(),
        hardware={"tier": found.tier, "name": found.name, "count": about["nproc"], "versions": dict(found.versions)},
        run={**{name: about[name] for name in RUN}, "args": without_credentials(about["args"], private),
             "losses_apart": timing.apart(about["losses"], second.losses)},
        statistics=about["task"] != FINGERPRINTS,
        throughput=timing.throughput(second.steps, timed.warmup, timed.samples),
        memory=timing.memory(second.out), metrics=timing.metrics(second), files=listed(files),
    )  # fmt: skip
    if private.leaks(bundle.text()):
        raise WorkbookError("baseline.leak", name=NAME)
    return bundle
