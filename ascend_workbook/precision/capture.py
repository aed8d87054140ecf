"""Dumps the tensors of an unmodified training script through the real msprobe, in a child process.

msprobe's PrecisionDebugger is a process singleton and wraps torch's functions, so it never runs in the caller.
On an NPU the script runs under transfer_to_npu; on a CPU the CPU stands in for CUDA."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence, say
from ascend_workbook.machine import device as devices
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, Plugin, Progress, launch
from ascend_workbook.machine.launch.enclosed import announce_guard, choose_enclosure, report_accounts
from ascend_workbook.machine.number_lists import parse_numbers
from ascend_workbook.machine.settings.child import settings as settings_reader
from ascend_workbook.precision.capturing import manifest, written
from ascend_workbook.precision.capturing.manifest import choose_folder, hold_folder, replace_capture
from ascend_workbook.precision.capturing.options import FINGERPRINTS, MIB, Options, check_room
from ascend_workbook.precision.capturing.standing import FILES as STANDING
from ascend_workbook.precision.capturing.standing import check_standing
from ascend_workbook.precision.capturing.written import check_ran
from ascend_workbook.precision.ranks.reading import read_records
from ascend_workbook.precision.ranks.sides import find_faults
from ascend_workbook.precision.ranks.telling import tell_faults
from ascend_workbook.precision.state.reading import read_states
from ascend_workbook.show.bar import Step

PLUGIN = Path(__file__).parent / "child" / "capture_plugin.py"
SETTINGS = Path(settings_reader.__file__)
#: msprobe refuses every other character in a path (FileCheckException).
PLAIN_PATH = re.compile(r"[A-Za-z0-9_/.-]+")


def capture(
    script: str | Path,
    args: Sequence[str] = (),
    *,
    out: str | Path,
    device: str = "auto",
    steps: int = 1,
    dump_steps: str | Sequence[int] = (0,),
    level: str = "L1",
    task: str = "tensor",
    seed: int = 1234,
    limit_mib: int = 2048,
    settings: Mapping[str, str] | None = None,
    nproc: int = 1,
    ranks: str | Sequence[int] = (),
    scope: Sequence[str] = (),
    names: Sequence[str] = (),
    data_mode: Sequence[str] = ("all",),
    draws: str = "device",
    rm_dropout: bool = False,
    estimate: bool = True,
    force: bool = False,
    network: bool = False,
    timeout_s: float | None = None,
    enclosed: bool = True,
    cwd: str | Path | None = None,
    python: str = sys.executable,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Trains `steps` steps and dumps those of `dump_steps` (from 0: [0, 3] or "0,3-5") into `out`.

    `device` is auto, npu, npu-simulated, cuda, cpu, or `baseline` (CUDA if present, else the CPU in its place).
    `settings` are environment variables of the child, out of options.SETTINGS. `ranks`, `scope` (first and last
    operator), `names` (parts of names) and `data_mode` (forward, backward, input, output) select what msprobe records.
    `draws` "host" makes all of torch's random numbers on the host, the same on every device, so that a training with
    dropout can be compared; `rm_dropout` trains without dropout.
    Where `estimate`, two steps of the script run first in a copy of the process: what the capture will write is told
    before it starts, and what a step takes without it. The script runs enclosed where the machine allows it (ACC219
    says how): it reads all, what it writes outside `out` is thrown away and listed, and it has no network unless
    `network`. With `enclosed` False it runs as any program of the user's, so that its own results stay too. A whole
    capture in `out` is replaced once this one is whole; where it is of another device, script or arguments only with
    `force`. The capture ends with capture.json, which lists every file with its SHA-256; one without it, or whose
    `complete` is false, was killed. Raises WorkbookError where it cannot run or would write more than `limit_mib`."""
    options = Options(
        Path(script),
        tuple(map(str, args)),
        steps,
        tuple(parse_numbers(dump_steps, "dump_steps")),
        level,
        task,
        seed,
        limit_mib,
        dict(settings or {}),
        nproc,
        tuple(parse_numbers(ranks or (), "ranks")),
        tuple(scope),
        tuple(names),
        tuple(data_mode),
        draws,
        rm_dropout,
    )
    return capture_run(
        options,
        out=out,
        device=device,
        estimate=estimate,
        force=force,
        network=network,
        timeout_s=timeout_s,
        enclosed=enclosed,
        cwd=cwd,
        python=python,
        progress=progress,
    )


def capture_run(
    options: Options,
    *,
    out: str | Path,
    device: str,
    estimate: bool,
    force: bool,
    network: bool,
    timeout_s: float | None,
    enclosed: bool,
    cwd: str | Path | None,
    python: str,
    progress: Callable[[str], None] | None,
    replay: Plugin | None = None,
) -> Report:
    """Run a capture with all that was asked of it. `replay` rides before it, and brings the run to a kept state: then
    no seed is set, because the run that kept it had none."""
    options.check_options()
    chosen = devices.find_baseline(python=python) if device == "baseline" else devices.find(device, python=python)
    options.check_tier(chosen.tier)
    environment = {**devices.child_environment(chosen.tier), "MSPROBE_LOG_LEVEL": "4", **options.settings}
    about = options.describe_capture(chosen, environment)
    if replay is not None:
        about |= {"seed": None, "replayed": {"state": Path(str(replay.config["state"])).name}}
    wanted = Path(out).absolute()
    enclosure = choose_enclosure(chosen, network=network, python=python) if enclosed else None
    remaining = announce_guard(enclosure.guard) if enclosure else None
    if progress and remaining:
        progress(say(remaining.key, **remaining.args))
    with hold_folder(wanted):
        folder = choose_folder(wanted, about, force=force)
        check_room(folder, options.limit_mib, chosen.tier, progress)
        manifest.Manifest(folder, False, about).write_file()
        spec = LaunchSpec(folder, options.script, args=options.args, cwd=Path(cwd) if cwd else None, python=python)
        spec = replace(
            spec, nproc=options.nproc, env=environment, steps=options.steps, seed=about["seed"], deterministic=True
        ).on(chosen)
        if chosen.tier == "npu-simulated":
            spec = replace(spec, env=devices.show_devices(environment, options.nproc))
        spec = replace(spec, draws=options.draws, rm_dropout=options.rm_dropout)
        with _dump_folder(folder) as dump:
            aside = (dump.parent,) if dump.parent != folder else ()
            riding = replace(
                spec,
                timeout_s=timeout_s,
                enclosure=replace(enclosure, writable=(*enclosure.writable, *aside)) if enclosure else None,
                plugins=[*([replay] if replay else []), _configure_plugin(dump, options, chosen.tier, estimate)],
            )
            result = launch(riding, _make_progress_teller(progress, chosen.tier, folder, options.limit_mib))
        report = _report_capture(folder, about, result, network=network)
        replace_capture(folder, wanted)
    return replace(report, facts={**report.facts, "folder": str(wanted)})


@contextmanager
def _dump_folder(folder: Path) -> Iterator[Path]:
    """Yield the folder that msprobe writes to: below the capture's folder, or aside and then moved where msprobe would
    refuse the path."""
    wanted = folder / manifest.DUMP
    if PLAIN_PATH.fullmatch(str(wanted)):
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="capture-") as aside:
        dump = Path(aside).resolve() / manifest.DUMP
        yield dump
        if dump.is_dir():
            shutil.move(str(dump), str(wanted))


def _configure_plugin(dump: Path, options: Options, tier: str, estimate: bool) -> Plugin:
    path = dump.parent / "msprobe.json"
    path.write_text(json.dumps(options.msprobe_config(dump), indent=1), encoding="utf-8")
    return Plugin(
        PLUGIN,
        {
            "config_path": str(path),
            "dump_path": str(dump),
            "iterations": list(options.dump_steps),
            "dumps": options.task != FINGERPRINTS,
            "estimates": estimate,
            "dry_path": str(dump.parent / "dry_dump"),
            "saves_tensors": options.task == "tensor",
            "ranks": len(options.ranks) or options.nproc,
            "only": list(options.ranks) if options.nproc > 1 else [],
            "limit_bytes": options.limit_mib * MIB,
            "block_torch_npu": not tier.startswith("npu"),
            "settings_path": str(SETTINGS),
        },
    )


def _make_progress_teller(
    progress: Callable[[str], None] | None, tier: str, folder: Path, limit_mib: int
) -> Callable[[Progress], None] | None:
    """Return a function that tells of each step, and of the budget as soon as it is known: before the
    capture starts."""
    if progress is None:
        return None
    last, size_known = [-1], [False]

    def tell_progress(state: Progress) -> None:
        size = 0 if size_known[0] else written.read_budget(folder).get("bytes", 0)
        if size:
            size_known[0] = True
            limit = _bytes_to_gb(limit_mib * MIB)
            progress(say("precision.told.size", None, tier=tier, gb=_bytes_to_gb(size), most_gb=limit))
        if state.step != last[0]:
            last[0] = state.step
            text = say("precision.told.step", None, tier=tier, step=state.step, steps=state.steps)
            progress(Step(text, state.step, state.steps or 0))

    return tell_progress


def _report_capture(folder: Path, about: dict[str, Any], result: LaunchResult, *, network: bool) -> Report:
    # the child ended itself because of the size limit: before it wrote anything, or in the midst
    budget, limit = written.read_budget(folder).get("bytes", 0), about["limit_mib"] * MIB
    if budget > limit:
        sizes = {"limit_gb": _bytes_to_gb(limit), "would_gb": _bytes_to_gb(budget)}
        raise WorkbookError("precision.over_budget", **sizes, path=str(folder))
    if (folder / "over_limit.json").is_file():
        wrote = json.loads((folder / "over_limit.json").read_text(encoding="utf-8"))["bytes"] // MIB
        raise WorkbookError("precision.over_limit", limit_mib=about["limit_mib"], wrote_mib=wrote, path=str(folder))
    check_standing(folder, result, Path(about["root"]))
    check_ran(result, about["tier"])
    _check_fault_struck(result.output_path, int(about["nproc"]))
    parts = [] if about["task"] == FINGERPRINTS else written.read_parts(folder / manifest.DUMP, about)
    sides = {
        path.stem.partition(".")[2]: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("side.rank*.json"))
    }
    missing = [rank for rank in range(about["nproc"]) if f"rank{rank}" not in sides]
    if missing:
        raise WorkbookError("precision.rank_missing", ranks=missing, path=str(folder))
    wanted, recorded = set(about["dump_steps"]), {part.step for part in parts}
    if about["task"] == FINGERPRINTS:
        recorded = {step for side in sides.values() for step in side["iterations"]}
    if wanted - recorded:
        raise WorkbookError("precision.steps_missing", missing=sorted(wanted - recorded), recorded=sorted(recorded))
    for path in folder.glob(STANDING):
        path.unlink()
    about = {**about, "parameter_devices": result.parameter_devices, "simulator": result.simulator}
    whole = manifest.Manifest(folder, True, about, manifest.list_files(folder), sides)
    whole.write_file()
    report = _report_success(whole, parts, result)
    accounts = [result.account] if result.account else []
    guard = report_accounts(accounts, ("ACC219", "ACC219"), network=network, copied=False)
    return replace(report, findings=(*report.findings, *guard))


def _check_fault_struck(output: Path, nproc: int) -> None:
    """Each process says at its end when a fault's call never came to it; one of a single rank comes to no other."""
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    missed = [line.partition("NPU simulator: ")[2] for line in lines if "never struck: " in line]
    by_fault = Counter(line.partition(" never struck")[0] for line in missed if line.startswith("the fault "))
    for fault, processes in by_fault.items():
        if processes >= nproc:
            message = f"{fault} never struck in {processes} process(es)"
            raise WorkbookError("precision.fault_never_struck", message=message)


def _report_success(whole: manifest.Manifest, parts: list[written.Part], result: LaunchResult) -> Report:
    columns = (Column("step"), Column("rank"), Column("operators"), Column("tensors"), Column("size", "MiB"))
    below = [_sum_file_bytes(whole, part.folder.relative_to(whole.folder).as_posix()) / MIB for part in parts]
    rows = tuple((p.step, p.rank, p.operators, p.tensors, round(mib, 1)) for p, mib in zip(parts, below))
    size = _sum_file_bytes(whole, manifest.DUMP)
    args: dict[str, Scalar] = {
        "operators": sum(part.operators for part in parts),
        "size_mib": round(size / MIB, 1),
        "steps": len(whole.about["dump_steps"]),
        "tier": whole.tier,
    }
    key = "ACC200.fingerprints" if whole.about["task"] == FINGERPRINTS else "ACC200.captured"
    budget, cost = written.read_budget(whole.folder), written.measure_overhead(result, whole)
    facts = {
        "folder": str(whole.folder),
        **whole.about,
        "losses": list(result.losses),
        "bytes": size,
        "standing_in": result.standing_in,
        "numerics": whole.numerics,
        "budget": budget,
        "overhead": cost,
    }
    remarks = [*written.make_findings(whole, budget, cost, size), *written.ended_early(whole, result)]
    remarks += written.name_differences(result)
    if int(whole.about["nproc"]) > 1:
        faults = find_faults(read_records(whole.folder), read_states(whole.folder))
        remarks += tell_faults(faults, whole.root, Sentence("precision.side_capture"))
    status = max((remark.status for remark in remarks), default=Status.GOOD)  # the result stays the headline
    findings = [Finding("ACC200", status, key, args, weight=100), *remarks]
    return Report("precision", "capture", tuple(findings), Table(columns, rows), facts=facts, tier=whole.tier)


def _bytes_to_gb(size: int) -> float:
    return round(size / 1e9, 3)


def _sum_file_bytes(whole: manifest.Manifest, prefix: str) -> int:
    """Sum the bytes of the recorded files; stack.json is left out, its size depends on where Python lies."""
    files = whole.files.items()
    return sum(entry["bytes"] for name, entry in files if name.startswith(f"{prefix}/") and "stack.json" not in name)
