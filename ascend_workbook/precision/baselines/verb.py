"""`baseline`: records on a GPU what a run elsewhere is to be held against, as a small bundle; on a CPU it says so."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.machine import bounded
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin, launch
from ascend_workbook.precision.baselines import packing
from ascend_workbook.precision.baselines.bundle import NAME, Bundle, list_files, refuse_existing, write_bundle
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.capturing.options import FINGERPRINTS
from ascend_workbook.precision.capturing.withheld import shell_line, withheld_names
from ascend_workbook.precision.capturing.written import check_ran
from ascend_workbook.redaction import Redactor
from ascend_workbook.storage import is_address

KIB = 1024


def make_report(
    bundle: Bundle, recorded: Report, second: LaunchResult, out: Path | str, size: int, *, asked: str, why: Scalar
) -> Report:
    """`size` in bytes; `asked` is the device that was asked for, `why` there is no CUDA device, where it is known."""
    args: dict[str, Scalar] = {
        "machine": bundle.describe_machine,
        "steps": bundle.run["steps"],
        "path": str(out),
        "dump_steps": ",".join(map(str, bundle.run["dump_steps"])),
        "size_kib": round(size / KIB, 1),
    }
    findings = [Finding("ACC280", Status.GOOD, "ACC280.recorded", args, weight=100)]
    names = withheld_names(bundle.run["args"])
    if names:
        findings.append(Finding("ACC280", Status.NOTE, "ACC280.withheld", {"count": len(names), "names": [*names]}))
    tier = str(bundle.hardware["tier"])
    if tier == "cpu":
        status = Status.LOOK if asked == "baseline" else Status.NOTE
        args = {"machine": bundle.describe_machine, "why": why}
        findings.append(Finding("ACC280", status, "ACC280.cpu", args, weight=50))
    if not bundle.statistics:
        findings.append(Finding("ACC281", Status.NOT_LOOKED, "ACC281.left_out"))
    if bundle.throughput is None:
        findings.append(Finding("ACC282", Status.NOT_LOOKED, "ACC282.too_few", {"count": len(second.steps)}))
    if not any(metric["ended"] for metric in bundle.metrics.values()):
        known: Scalar = list(sorted(bundle.metrics)[:6]) or None
        findings.append(Finding("ACC283", Status.NOT_LOOKED, "ACC283.no_final", {"known": known}))
    facts = {"bundle_path": str(out), "bytes": size, "losses": recorded.facts["losses"], **asdict(bundle)}
    table = Table((Column("quantity"), Column("value")), tuple(_make_rows(bundle, recorded)))
    return Report("precision", "baseline", tuple(findings), table, facts=facts, tier=tier)


def _make_rows(bundle: Bundle, recorded: Report) -> list[tuple[Scalar, ...]]:
    losses = [loss for loss in recorded.facts["losses"] if loss is not None]
    first, last = (losses[0], losses[-1]) if losses else (None, None)
    rows: list[tuple[str, dict[str, Scalar]]] = [("machine", {"name": bundle.describe_machine})]
    rows.append(("losses", {"count": len(losses), "first": first, "last": last}))
    if bundle.statistics and recorded.headline:
        rows.append(("statistics", {name: recorded.headline.args[name] for name in ("operators", "steps")}))
    if bundle.throughput:
        rows.append(("throughput", {name: bundle.throughput[name] for name in ("median", "low", "high", "count")}))
    if bundle.throughput and "samples_per_s" in bundle.throughput:
        rows.append(("samples", {"value": bundle.throughput["samples_per_s"]}))
    for name, value in sorted(bundle.memory.items()):
        rows.append((f"memory_{name.removesuffix('_mib')}", {"value": round(value, 1)}))
    if bundle.run["losses_apart"] is not None:
        rows.append(("apart", {"value": bundle.run["losses_apart"]}))
    cells: list[tuple[Scalar, ...]] = []
    cells += [(Sentence(f"baseline.row_{name}"), Sentence(f"baseline.value_{name}", **args)) for name, args in rows]
    for name, metric in bundle.metrics.items():
        key = "metric" if metric["ended"] else "metric_so_far"
        cells.append((name, Sentence(f"baseline.value_{key}", value=metric["value"], step=metric["step"])))
    return [*cells, (Sentence("baseline.row_next"), target_command(bundle))]


def target_command(bundle: Bundle) -> str:
    """Return the command that captures the target alike, without private folders and credentials."""
    run = bundle.run
    options = {
        "--task": "statistics" if bundle.statistics else FINGERPRINTS,
        "--steps": run["steps"],
        "--dump-steps": ",".join(map(str, run["dump_steps"])),
        "--level": run["level"],
        "--seed": run["seed"],
        "--nproc": run["nproc"],
        "--out": "runs/npu",
    }
    if "draws" in run:
        options["--draws"] = run["draws"]
    words = [str(word) for option in options.items() for word in option]
    words += ["--rm-dropout"] if run.get("rm_dropout") else []
    return shell_line(["ascend-workbook", "capture", "--device", "npu", *words, run["script"], *run["args"]])


MEMORY = Path(__file__).parents[1] / "child" / "memory_plugin.py"
TIERS = ("baseline", "cuda", "cpu")
HAS_MSPROBE = "import importlib.util as found, sys; sys.exit(found.find_spec('msprobe') is None)"
RANDOMNESS = ("draws", "rm_dropout")
RUN = ("script", "script_sha256", "steps", "dump_steps", "level", "seed", "nproc")


@dataclass(frozen=True)
class Timed:
    """How the second run is made: `steps` (0: to the script's end), of which the first `warmup` are left out."""

    steps: int
    warmup: int
    samples: int | None

    def describe_run(self, tier: str) -> str:
        """Return what is said before the run."""
        return say("baseline.told.timed" if self.steps else "baseline.told.whole", None, tier=tier, steps=self.steps)

    def check_numbers(self) -> None:
        """Check the numbers; raises WorkbookError naming the one that cannot be."""
        for name, value, least in (
            ("timing_steps", self.steps, 0),
            ("warmup", self.warmup, 0),
            ("samples_per_step", 1 if self.samples is None else self.samples, 1),
        ):
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
    draws: str = "device",
    rm_dropout: bool = False,
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

    `draws` and `rm_dropout` hold for the first run alone, as of `capture`; the target must be captured with the same.
    `device` is baseline (CUDA, else the CPU in its place), cuda or cpu. `statistics=False` records all but them and
    needs no msprobe; torch_npu is never needed. Raises WorkbookError where a run fails or `out` is there already."""
    target = str(out) if is_address(out) else Path(out).absolute()
    timed = Timed(timing_steps, warmup, samples_per_step)
    timed.check_numbers()
    refuse_existing(target)
    if device not in TIERS:
        raise WorkbookError("precision.option", name="device", value=device, known=list(TIERS))
    if statistics and bounded.run_bounded([python, "-c", HAS_MSPROBE], timeout_s=60).code:
        raise WorkbookError("baseline.no_msprobe", python=python)
    chosen_device = devices.find_baseline("auto" if device == "baseline" else device, python=python)
    chosen = sorted({0, min(1, steps - 1), steps - 1}) if dump_steps is None else dump_steps
    with tempfile.TemporaryDirectory(prefix="baseline-") as aside:
        folder = Path(aside).resolve()
        recorded = capture(
            script,
            args,
            out=folder / "recorded",
            device=chosen_device.tier,
            steps=steps,
            dump_steps=chosen,
            level=level,
            task="statistics" if statistics else FINGERPRINTS,
            seed=seed,
            draws=draws,
            rm_dropout=rm_dropout,
            nproc=nproc,
            limit_mib=limit_mib,
            enclosed=False,
            cwd=cwd,
            python=python,
            progress=progress,
        )
        if progress:
            progress(timed.describe_run(chosen_device.tier))
        second = _time_run(Path(script), args, folder / "timed", chosen_device, timed, seed, nproc, cwd, python)
        files = packing.pack_capture(folder / "recorded")
        bundle = _make_bundle(
            recorded, second, chosen_device, timed, files, packing.make_redactor(Path(script).absolute().parent)
        )
        size = write_bundle(target, bundle, files)
        why = chosen_device.why_not.get("cuda", Sentence("baseline.asked"))
        return make_report(bundle, recorded, second, target, size, asked=device, why=why)


def _time_run(
    script: Path,
    args: Sequence[str],
    out: Path,
    device: Device,
    timed: Timed,
    seed: int,
    nproc: int,
    cwd: str | Path | None,
    python: str,
) -> LaunchResult:
    """Time a run with nothing riding along but the memory's reader: no msprobe, no determinism, no gradient norm."""
    result = launch(
        LaunchSpec(
            out=out,
            script=script,
            args=tuple(map(str, args)),
            cwd=Path(cwd) if cwd else None,
            python=python,
            nproc=nproc,
            steps=timed.steps or None,
            seed=seed,
            plugins=[Plugin(MEMORY, {"accelerator": device.accelerator})],
            grad_norm=False,
        ).on(device)
    )
    if result.trouble is not None:
        log_copy = Path(tempfile.gettempdir()) / f"baseline-output-{out.parent.name.rpartition('-')[2]}.log"
        shutil.copyfile(result.output_path, log_copy)
        check_ran(result, device.tier, log_copy)
    return result


def _make_bundle(
    recorded: Report, second: LaunchResult, device: Device, timed: Timed, files: dict[str, bytes], private: Redactor
) -> Bundle:
    """Make the bundle; raises WorkbookError where a credential would be in it."""
    about: dict[str, Any] = recorded.facts
    bundle = Bundle(
        recorded=datetime.now(timezone.utc).date().isoformat(),
        hardware={"tier": device.tier, "name": device.name, "count": about["nproc"], "versions": dict(device.versions)},
        run={
            **{name: about[name] for name in (*RUN, *RANDOMNESS) if name in about},
            "args": packing.without_credentials(about["args"], private),
            # with other random numbers the losses are others, whatever else is the same
            "losses_apart": None
            if any(name in about for name in RANDOMNESS)
            else packing.compare_losses(about["losses"], second.losses),
        },
        statistics=about["task"] != FINGERPRINTS,
        throughput=packing.measure_throughput(second.steps, timed.warmup, timed.samples),
        memory=packing.read_memory(second.out),
        metrics=packing.read_metrics(second),
        files=list_files(files),
    )
    if private.leaks_secret(bundle.to_json()):
        raise WorkbookError("baseline.leak", name=NAME)
    return bundle
