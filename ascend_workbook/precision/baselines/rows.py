"""A bundle as a report: what was recorded, on what, and what was not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.precision.baselines.bundle import Bundle
from ascend_workbook.precision.capturing.options import FINGERPRINTS
from ascend_workbook.precision.capturing.withheld import shell_line, withheld_names

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
    findings = [Finding("ACC280", Status.OK, "ACC280.recorded", args, weight=100)]
    names = withheld_names(bundle.run["args"])
    if names:
        findings.append(Finding("ACC280", Status.NOTE, "ACC280.withheld", {"count": len(names), "names": [*names]}))
    tier = str(bundle.hardware["tier"])
    if tier == "cpu":
        status = Status.WARN if asked == "baseline" else Status.NOTE
        findings.append(
            Finding("ACC280", status, "ACC280.cpu", {"machine": bundle.describe_machine, "why": why}, weight=50)
        )
    if not bundle.statistics:
        findings.append(Finding("ACC281", Status.SKIPPED, "ACC281.left_out"))
    if bundle.throughput is None:
        left: dict[str, Scalar] = {"count": len(second.steps)}
        findings.append(Finding("ACC282", Status.SKIPPED, "ACC282.too_few", left))
    if not any(metric["ended"] for metric in bundle.metrics.values()):
        known: Scalar = list(sorted(bundle.metrics)[:6]) or None
        findings.append(Finding("ACC283", Status.SKIPPED, "ACC283.no_final", {"known": known}))
    facts = {"bundle_path": str(out), "bytes": size, "losses": recorded.facts["losses"], **asdict(bundle)}
    table = Table((Column("quantity"), Column("value")), tuple(_make_rows(bundle, recorded)))
    return Report("precision", "baseline", tuple(findings), table, facts=facts, tier=tier)


def _make_rows(bundle: Bundle, recorded: Report) -> list[tuple[Scalar, ...]]:
    losses = [loss for loss in recorded.facts["losses"] if loss is not None]
    rows: list[tuple[str, dict[str, Scalar]]] = [("machine", {"name": bundle.describe_machine})]
    rows.append(
        (
            "losses",
            {"count": len(losses), "first": losses[0] if losses else None, "last": losses[-1] if losses else None},
        )
    )
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
    sentences = [(Sentence(f"baseline.row_{name}"), Sentence(f"baseline.value_{name}", **args)) for name, args in rows]
    cells: list[tuple[Scalar, ...]] = [(name, value) for name, value in sentences]
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
    words = [str(word) for option in options.items() for word in option]
    return shell_line(["ascend-workbook", "capture", "--device", "npu", *words, run["script"], *run["args"]])
