"""Runs the parts, each in a child with its own time limit, and joins what came back into one report and one archive."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ascend_workbook.findings import report as reports
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, join_reports
from ascend_workbook.findings.sentence import Scalar, Sentence, choose_language
from ascend_workbook.machine import bounded
from ascend_workbook.machine import device as devices
from ascend_workbook.selftest import bundle
from ascend_workbook.selftest.parts import PARTS, Part

ENTRY = Path(__file__).resolve().parents[1]
#: What a part's child printed goes into the archive; of a flood the beginning and the end.
OUTPUT_CHARACTERS = 400_000
Command = Callable[[Part, str, Path], list[str]]


def selftest(
    device: str = "auto",
    *,
    out: str | os.PathLike[str] = ".",
    parts: Sequence[str] = (),
    logs: Sequence[str | os.PathLike[str]] = (),
    timeout_s: float | None = None,
    command: Command | None = None,
    on_part: Callable[[str], None] | None = None,
) -> Report:
    """Looks whether all that the workbook needs works on the device, and writes one redacted archive into `out`.
    `parts` chooses among PARTS (default: all), `logs` are files or folders of yours that go with it (their ends, and
    redacted), `timeout_s` is the limit of each part. A part that crashes or hangs is a Fix of its own; one that could
    not look is Not looked. Where the device is not here the archive holds the check, which says why. The path stands in
    facts["bundle"]. Raises WorkbookError where the archive cannot be written, or for a part or log that is not
    there."""
    chosen = _choose_parts(parts)
    extra = bundle.user_logs(logs)
    target = bundle.make_writable(Path(out))
    began = time.time()
    chosen_device, absent = _find_device(device)
    results: list[Report] = []
    output: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="selftest-") as folder:
        for part in chosen:
            if on_part:
                on_part(part.name)
            if chosen_device is None and not part.always:
                results.append(
                    _make_report(part, Finding("SLF002", Status.NOT_LOOKED, "SLF002.absent", {"why": absent}))
                )
                continue
            limit_s = timeout_s or part.timeout_s
            tier = chosen_device.tier if chosen_device else device
            part_report, output[part.name] = _run_part_child(part, tier, Path(folder), limit_s, command)
            results.append(part_report)
    by_part = {part.name: report for part, report in zip(chosen, results)}
    joined = _join_reports(results, chosen_device, absent)
    return bundle.write_archive(joined, by_part, output, extra, target, began)


def run_part(name: str, device: str = "auto", timeout_s: float | None = None) -> Report:
    """One part alone, in this process, which divides `timeout_s` among its children. Raises WorkbookError where the
    device or the part is not there."""
    (part,) = _choose_parts([name])
    if part.always:
        return part.run_within(devices.Device(device, "", 0), timeout_s)
    return part.run_within(devices.find(device), timeout_s)


def _choose_parts(names: Sequence[str]) -> list[Part]:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise WorkbookError("selftest.part", name=unknown[0], known=list(PARTS))
    return [part for name, part in PARTS.items() if not names or name in names]


def _find_device(device: str) -> tuple[devices.Device | None, Scalar]:
    """The device; where it is not here, why: that is a result, which the archive is there to carry."""
    try:
        return devices.find(device), None
    except WorkbookError as error:
        if error.key != "device.absent":
            raise
        return None, error.arguments["why"]


def _run_part_child(
    part: Part, device: str, folder: Path, limit_s: float, command: Command | None
) -> tuple[Report, str]:
    """The part's report, or what its end says; and all that it printed."""
    file = folder / f"{part.name}.json"
    work = folder / part.name
    work.mkdir()
    # the same command as a user would give, so that one part can be repeated by hand
    line = [sys.executable, str(ENTRY), "selftest", "--part", part.name, "--device", device, "--json", str(file)]
    line += ["--lang", choose_language(), "--timeout", f"{limit_s:g}"]
    line = command(part, device, file) if command else line
    try:
        done = bounded.run_bounded(line, env=os.environ, timeout_s=limit_s, cwd=str(work))
    except OSError as error:
        done = bounded.Output(126, "", f"{line[0]}: {error}")
    text = _cut_text("\n".join(filter(None, (done.stdout, done.stderr))))
    args: dict[str, Scalar] = {"part": Sentence(f"selftest.part.{part.name}"), "seconds": f"{limit_s:g}"}
    if done.timed_out:
        return _make_report(part, Finding("SLF003", Status.FIX, "SLF003.hung", args, weight=90)), text
    try:
        saved = reports.load_report(file)
        if done.code >= 0:
            return saved, text
        args.update(signal=-done.code, error=done.last_error[:500])
        crashed = Finding("SLF003", Status.FIX, "SLF003.crashed_after", args, weight=1000)
        return replace(saved, findings=(crashed, *saved.findings)), text
    except WorkbookError:
        args["error"] = done.last_error[:500]
    if done.code < 0:
        args["signal"] = -done.code
        return _make_report(part, Finding("SLF003", Status.FIX, "SLF003.crashed", args, weight=95)), text
    key, status = ("SLF003.could_not", Status.NOT_LOOKED) if done.code == 2 else ("SLF003.broke", Status.FIX)
    return _make_report(part, Finding("SLF003", status, key, args, weight=80)), text


def _make_report(part: Part, finding: Finding) -> Report:
    return Report("environment", f"selftest_{part.name}", (finding,))


def _join_reports(results: list[Report], device: devices.Device | None, absent: Scalar) -> Report:
    """The verdict speaks of all parts: all good, or how many are not and the first of the worst."""
    tier = device.tier if device else ""
    joined = join_reports("environment", "selftest", results, tier=tier)
    bad = [report for report in results if report.status in (Status.FIX, Status.NOT_LOOKED)]
    args: dict[str, Scalar] = {"parts": len(results), "bad": len(bad), "name": device.name if device else None}
    args["device"] = Sentence("device.is", tier=tier, name=device.name) if device else None
    worst = max((report.status for report in results), default=Status.NOT_LOOKED)
    if device is None:
        verdict = Finding("SLF001", Status.FIX, "SLF001.absent", {**args, "why": absent}, weight=1000)
    elif bad:
        first = max(bad, key=lambda report: report.status)
        args["first"] = Sentence(first.headline.key, **first.headline.args) if first.headline else None
        verdict = Finding("SLF001", worst, "SLF001.bad", args, weight=1000)
    else:
        verdict = Finding("SLF001", worst, "SLF001.ok", args, weight=1000)
    facts = {"parts": {report.verb: report.status.json for report in results}}
    findings = (verdict, *joined.findings)
    return Report("environment", "selftest", findings, joined.table, facts=facts, tier=tier, parts=joined.parts)


def _cut_text(text: str) -> str:
    half = OUTPUT_CHARACTERS // 2
    return text if len(text) <= OUTPUT_CHARACTERS else f"{text[:half]}\n[...]\n{text[-half:]}"
