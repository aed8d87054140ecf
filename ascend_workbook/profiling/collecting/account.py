"""What a recording brought, counted: the profilers swallow their errors (no_exception_func in torch_npu); and the
folder that it lies in, with the record beside it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.device import Device
from ascend_workbook.profiling.collecting.options import Options, for_child
from ascend_workbook.profiling.facts import RECORD, Profile, load_profile
from ascend_workbook.profiling.ranks.collectives import calls_at
from ascend_workbook.profiling.readers.lines import sampled_spans, sampled_stacks
from ascend_workbook.profiling.savings import ADVISED
from ascend_workbook.storage import open_storage

#: What child/profiler_plugin.py and the profilers below it write
OURS = re.compile(r"rank(\d+)(?:\.pt\.trace\.json|\.flops\.json|\.room\.json|\.lines\.json|_.*_ascend_pt)")
MIB = 1 << 20


def check_folder(folder: Path) -> None:
    """Raises WorkbookError where somebody else's files lie there. Another rank may be writing the record just now."""
    others = folder.exists() and any(RECORD not in entry.name for entry in folder.iterdir())
    if others and not (folder / RECORD).is_file():
        raise WorkbookError("profiling.not_ours", path=str(folder), record=RECORD)


def clear_recording(folder: Path, rank: int | None = None) -> None:
    """Remove what an earlier recording left there, of one rank or of all; other files stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in folder.iterdir():
        own = OURS.fullmatch(entry.name)
        if own and (rank is None or int(own[1]) == rank):
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def write_record(folder: Path, content: Mapping[str, object], status: str = "running") -> None:
    """Write the record; it says that the recording runs until it ends `complete` or `failed`: what is killed leaves it
    so."""
    folder.mkdir(parents=True, exist_ok=True)
    record = json.dumps({**content, "status": status}, ensure_ascii=False, indent=1)
    open_storage(str(folder)).write_text(RECORD, record)


def describe_run(device: Device, environ: Mapping[str, str]) -> dict[str, object]:
    """Return what `analyse` must know and no trace tells: above all whether the device was a real one, and of the
    recorded process's environment the variables that its advice is about, empty where one is not set."""
    variables = {name: environ.get(name, "") for name in ADVISED}
    return {"tier": device.tier, "device": device.name, "versions": device.versions, "environment": variables}


def size_mib(folder: Path) -> float:
    """Return the size of all files in the folder in MiB."""
    return round(sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / MIB, 2)


#: An overhead that changes what the profile shows, in percent of the step without the profiler
LARGE_OVERHEAD = 30.0
#: Steps without the profiler that differ more than this, slowest to fastest, tell nothing of it
UNSTEADY = 1.5
Row = tuple[str, int, Status]


@dataclass(frozen=True)
class Recording:
    """One run: what was asked of which device, where it lies, and what the run itself told. `times_s`: of each step as
    it ran, without and with the profiler; `trouble`: a sentence, where the script failed."""

    options: Options
    found: Device
    folder: Path
    ranks: Sequence[int]
    times_s: Sequence[float]
    nproc: int = 1
    trouble: Sentence | None = None
    remarks: tuple[tuple[str, dict[str, Scalar]], ...] = ()
    facts: dict[str, object] = field(default_factory=dict)

    @property
    def done(self) -> int:
        return len(self.times_s)

    def data_path(self, rank: int) -> Path:
        """Return one rank's trace file or `*_ascend_pt` folder; where there is none a path that does not exist."""
        if self.found.accelerator != "npu":
            return self.folder / f"rank{rank}.pt.trace.json"
        return min(self.folder.glob(f"rank{rank}_*_ascend_pt"), default=self.folder / f"rank{rank}_ascend_pt")


def report_recording(run: Recording) -> Report:
    """Report a row per kind of data. Fix where the script failed, or data are absent that the device must give."""
    overhead = measure_overhead(run)
    facts: dict[str, object] = {"folder": str(run.folder), **run.facts, "overhead": overhead}
    facts |= {"size_mib": size_mib(run.folder), "room": _read_beside(run, "room")}
    remark_findings = [Finding("PRF300", Status.NOTE, key, args) for key, args in run.remarks]
    try:
        if run.trouble is not None:
            raise WorkbookError("PRF300.script", trouble=run.trouble)
        path = run.data_path(run.ranks[0])
        profile = load_profile(path)
    except WorkbookError as nothing:
        failed = Finding("PRF300", Status.FIX, *_explain_failure(run, nothing), weight=100)
        return Report("profiling", "profile", (failed, *remark_findings), facts=facts, tier=run.found.tier)
    rows = count_data(profile, run)
    more = [*remark_findings, *find_changed_settings(path, run.options, run.found)]
    absent: list[Scalar] = [rank for rank in run.ranks if not run.data_path(rank).exists()]
    if absent:
        more.append(Finding("PRF300", Status.FIX, "PRF300.absent_ranks", {"ranks": absent, "of": len(run.ranks)}))
    # as short as this directory allows
    where = os.path.relpath(run.folder) if Path.cwd() in run.folder.absolute().parents else str(run.folder)
    pointer = Finding("PRF300", Status.GOOD, "PRF300.where", {"path": where, "quoted": shlex.quote(where)})
    more += [*_judge_overhead(overhead), pointer]
    # as torch counts them: matrix products and convolutions, no convolution's backward
    flops = _read_beside(run, "flops").get("flops")
    facts |= {"profile": str(path), "flops_per_step": sum(flops.values()) / run.options.steps if flops else None}
    table_rows: list[tuple[Scalar, ...]]
    table_rows = [(Sentence(f"profiling.data.{name}"), count, state.json) for name, count, state in rows]
    if overhead is not None:
        state = Status.NOTE if overhead["percent"] > LARGE_OVERHEAD else Status.GOOD
        percent: Scalar = overhead["percent"] if overhead["percent"] > 0 else Sentence("profiling.data.within_noise")
        table_rows.append((Sentence("profiling.data.overhead"), percent, state.json))
    table = Table((Column("profiling_data"), Column("count"), Column("status")), tuple(table_rows))
    return Report(
        "profiling", "profile", _list_findings(rows, run, profile, more), table, facts=facts, tier=run.found.tier
    )


def count_data(profile: Profile, run: Recording) -> list[Row]:
    """Return (kind of data, how much, whether that is right) for all that should have come."""
    trace, options = profile.trace, run.options
    steps = trace.recorded_steps if trace.marked else 0
    missing = {"cpu": Status.GOOD, "npu-simulated": Status.LOOK}.get(profile.tier, Status.FIX)
    enough = steps == options.steps and run.done >= options.total
    # as `analyse` finds them: on a device its kernels, on a CPU the calls on gloo's threads
    on_cpu = run.found.accelerator == "cpu"
    collectives = len(calls_at(run.data_path(run.ranks[0]), trace)) if on_cpu else trace.count_events("communication")
    rows = [
        ("steps", steps, Status.GOOD if enough else Status.FIX),
        _grade_count("host", trace.count_events("host_op"), Status.FIX),
        _grade_count("kernels", trace.count_events("compute"), missing),
        _grade_count("collectives", collectives, Status.GOOD if run.nproc == 1 else missing),
        _grade_count("loading", trace.count_events("loading"), Status.NOTE),
    ]
    asked = (
        (options.shapes, "shapes", int((trace.shape > 0).sum()) if any(trace.shapes) else 0),
        (options.memory, "memory", trace.memory_records),
        (options.stack or options.modules, "stack", trace.count_events("python") - sampled_spans(trace)),
        (options.flops and run.found.accelerator != "npu", "flops", len(_read_beside(run, "flops").get("flops", ()))),
    )
    if options.lines:  # steps of less than a millisecond can end before one is seen
        rows.append(_grade_count("lines", sampled_stacks(trace), Status.NOTE))
    rows += [_grade_count(name, count, Status.LOOK) for wanted, name, count in asked if wanted]
    return rows + count_npu_data(run.data_path(run.ranks[0]), options, run.found)


def measure_overhead(run: Recording) -> dict[str, float] | None:
    """Return the milliseconds of the median step without and with the profiler; None where fewer than two of either
    ran, or those without it differ too much, or were so slow that they were still warming up. The first step of all is
    left out, and so is the warm-up, where the profiler starts."""
    plain = run.times_s[1 : run.options.wait]
    during = run.times_s[run.options.wait + run.options.warmup : run.options.total]
    if len(plain) < 2 or len(during) < 2 or max(plain) > UNSTEADY * min(plain):
        return None
    without, with_it = median(plain), median(during)
    percent = 100 * (with_it / without - 1)
    if percent < -LARGE_OVERHEAD:
        return None
    return {"without_ms": round(1e3 * without, 3), "with_ms": round(1e3 * with_it, 3), "percent": round(percent, 1)}


def _grade_count(name: str, count: int, absent: Status) -> Row:
    """Return the row of a kind of data, with the status `absent` where nothing of it came."""
    return name, count, Status.GOOD if count else absent


def _explain_failure(run: Recording, error: WorkbookError) -> tuple[str, dict[str, Scalar]]:
    """Return key and arguments of the finding that says why nothing can be read."""
    room = _read_beside(run, "room")
    if room.get("refused"):
        return "PRF300.room", {**room, "path": str(run.folder)}
    if run.trouble is not None:
        loop = run.trouble["say"] == "profiling.loop_failed"
        return ("PRF300.loop" if loop else "PRF300.script"), {"done": run.done, "trouble": run.trouble}
    why: Scalar = Sentence(error.key, **error.arguments)
    logged = logged_error(run.data_path(run.ranks[0])) if run.found.accelerator == "npu" else ""
    return ("PRF300.nothing_said" if logged else "PRF300.nothing"), {"done": run.done, "why": why, "said": logged}


def _list_findings(rows: list[Row], run: Recording, profile: Profile, more: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings: the verdict, what is absent, and the others."""
    wanted = run.options.total
    absent = [name for name, count, state in rows if state > Status.NOTE and not count]
    problems = [
        Finding("PRF300", state, f"PRF300.absent.{name}", {"done": run.done, "wanted": wanted})
        for name, count, state in rows
        if state is not Status.GOOD
    ]
    came: list[Scalar] = [Sentence(f"profiling.data.{name}") for name, count, _ in rows if count]
    lacking: list[Scalar] = [Sentence(f"profiling.data.{name}") for name in absent]
    steps: dict[str, Scalar] = {"steps": profile.trace.recorded_steps, "wanted": run.options.steps}
    worst = max((finding.status for finding in (*problems, *more)), default=Status.GOOD)
    key = "PRF300.partly" if absent else "PRF300.came"
    return (Finding("PRF300", worst, key, {"came": came, "absent": lacking, **steps}, weight=100), *problems, *more)


def _judge_overhead(cost: dict[str, float] | None) -> list[Finding]:
    """Judge how much the profiler slowed the steps."""
    if cost is None:
        return [Finding("PRF300", Status.NOTE, "PRF300.overhead_unknown")]
    if cost["percent"] > LARGE_OVERHEAD:
        return [Finding("PRF300", Status.NOTE, "PRF300.overhead_large", dict(cost))]
    key = "PRF300.overhead" if cost["percent"] > 0 else "PRF300.overhead_none"
    return [Finding("PRF300", Status.GOOD, key, dict(cost))]


def _read_beside(run: Recording, name: str) -> dict[str, Any]:
    """Read what child/profiler_plugin.py left beside the data, `room` or `flops`; empty where it left nothing."""
    path = run.folder / f"rank{run.ranks[0]}.{name}.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


#: Columns of kernel_details.csv that AI Core metrics bring: aic_mac_ratio, aiv_vec_time, ...
METRIC = re.compile(r"\b(?:aic|aiv)_\w+")
#: aic_metrics' values, as the file has them, by our child's names
WRITTEN = {
    "AiCoreNone": "ACL_AICORE_NONE",
    "PipeUtilization": "ACL_AICORE_PIPE_UTILIZATION",
    "ArithmeticUtilization": "ACL_AICORE_ARITHMETIC_UTILIZATION",
    "Memory": "ACL_AICORE_MEMORY_BANDWIDTH",
    "MemoryL0": "ACL_AICORE_L0B_AND_WIDTH",
    "MemoryUB": "ACL_AICORE_MEMORY_UB",
    "ResourceConflictRatio": "ACL_AICORE_RESOURCE_CONFLICT_RATIO",
    "L2Cache": "ACL_AICORE_L2_CACHE",
    "MemoryAccess": "ACL_AICORE_MEMORY_ACCESS",
}


def find_changed_settings(path: Path, options: Options, device: Device) -> list[Finding]:
    """Report the settings that the profiler changed without an error."""
    if device.accelerator != "npu":
        return []
    try:
        recorded_settings = _read_settings(path)
    except WorkbookError as error:
        why: Scalar = Sentence(error.key, **error.arguments)
        return [Finding("PRF300", Status.LOOK, "PRF300.settings_unknown", {"why": why})]
    asked: dict[str, Any] = dict(for_child(options, "npu", "")["npu"])
    asked["aic_metrics"] = WRITTEN[asked["aic_metrics"]]
    asked["export_type"] = sorted(export_type.lower() for export_type in asked["export_type"])
    changed: list[Scalar] = []
    for name, value in asked.items():
        used = recorded_settings.get(f"_{name}")
        used = sorted(used) if isinstance(used, list) else used
        if f"_{name}" in recorded_settings and used != value:
            changed.append(f"{name}={used} ({value})")
    return [Finding("PRF300", Status.FIX, "PRF300.otherwise", {"changed": changed})] if changed else []


def count_npu_data(path: Path, options: Options, device: Device) -> list[Row]:
    """Count AI Core metrics and databases, where they were asked for."""
    if device.accelerator != "npu":
        return []
    lacking = Status.NOTE if device.simulated else Status.FIX
    rows: list[Row] = []
    if options.export != "db" and for_child(options, "npu", "")["npu"]["aic_metrics"] != "AiCoreNone":
        table, heading = path / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", ""
        if table.is_file():
            with table.open(encoding="utf-8", errors="replace") as lines:
                heading = lines.readline(1 << 16)
        rows.append(_grade_count("metrics", len(METRIC.findall(heading)), lacking))
    if options.export != "text":
        rows.append(_grade_count("database", len(list(path.glob("ASCEND_PROFILER_OUTPUT/*.db"))), Status.FIX))
    return rows


def logged_error(path: Path) -> str:
    """Return the last error in the logs that torch_npu's parser leaves, for it raises none."""
    lines = [line for log in sorted(path.glob("logs/*.log")) for line in log.read_text("utf-8", "replace").splitlines()]
    return next((line.rpartition("] ")[2].strip() for line in reversed(lines) if "[ERROR]" in line), "")


def _read_settings(path: Path) -> dict[str, object]:
    """Read the settings with which torch_npu recorded; raises WorkbookError where its file cannot be read."""
    file = next(iter(sorted(path.glob("profiler_info*.json"))), path / "profiler_info.json")
    try:
        return dict(json.loads(file.read_text(encoding="utf-8"))["config"]["experimental_config"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkbookError("profiling.unreadable", path=str(file), error=f"{type(error).__name__}: {error}") from error
