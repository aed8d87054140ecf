"""The files that `analyse` writes beside its report: timeline, Perfetto trace, flame graph."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Chart, Column, Report, Table
from ascend_workbook.findings.sentence import Scalar
from ascend_workbook.profiling.export import ENDINGS
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.readers.ascend import FOLDER
from ascend_workbook.storage import refuse_unwritable, write_file

if TYPE_CHECKING:
    from ascend_workbook.profiling.export.flame import Stacks

ROWS = 40


def refuse_targets(files: Mapping[str, str], profiles: Sequence[str | os.PathLike[str]]) -> None:
    """Raise WorkbookError or OSError where one of the files cannot be written, or would lie over or in one of the
    `profiles`: before a long reading, not after."""
    read = [Path(profile).resolve() for profile in profiles]
    for kind, path in files.items():
        if not path.endswith(ENDINGS[kind]):
            raise WorkbookError("profiling.picture_kind", path=path, wanted=list(ENDINGS[kind]))
        target = Path(path).resolve()
        inside = [profile_path for profile_path in read if profile_path == target or profile_path in target.parents]
        if inside or any(above.name.endswith(FOLDER) for above in target.parents):
            raise WorkbookError("profiling.over_profile", path=path, option=f"--{kind}")
        refuse_unwritable(path)


def export_files(profile: Profile, timeline: Report, files: Mapping[str, str], lang: str | None = None) -> None:
    """Write each kind of file (ENDINGS) to the path given for it; `timeline` is the report of that name."""
    for kind, path in files.items():
        if kind == "perfetto":
            from ascend_workbook.profiling.export.perfetto import write_perfetto

            write_perfetto(profile.trace, path)
        elif path.endswith(".txt"):
            write_file(path, _steady_stacks(profile).write_collapsed().encode("utf-8", "backslashreplace"))
        elif path.endswith(".html"):
            write_file(path, timeline.html(lang).encode("utf-8", "backslashreplace"))
        else:
            figure = (timeline if kind == "timeline" else report_flame(profile)).figure(lang)
            figure.savefig(path, dpi=130, facecolor="white")


def report_flame(profile: Profile) -> Report:
    """Report the stacks of the steady steps as a flame graph: a row for each frame with most time of its own."""
    from ascend_workbook.profiling.export.flame import lay_out_boxes

    flame_stacks = _steady_stacks(profile)
    own: dict[str, int] = {}
    for name, spent in zip(flame_stacks.frame, flame_stacks.self_ns):
        own[name] = own.get(name, 0) + spent
    costly = sorted(own.items(), key=lambda entry: (-entry[1], entry[0]))[:ROWS]
    steps = len(profile.breakdown.steady)
    rows: tuple[tuple[Scalar, ...], ...] = tuple((name, spent / steps / 1e6) for name, spent in costly if spent)
    placed = [
        [entry.name, entry.depth, round(entry.start, 6), round(entry.share, 6)] for entry in lay_out_boxes(flame_stacks)
    ]
    finding = Finding("PRF341", Status.OK, "PRF341.drawn", {"stacks": len(flame_stacks.frame), "frames": len(placed)})
    table = Table((Column("operator"), Column("self_time", "ms")), rows)
    chart = Chart("flame", "operator", ("self_time",), "ms")
    return Report("profiling", "flame", (finding,), table, chart, facts={"flame": placed}, tier=profile.tier)


def _steady_stacks(profile: Profile) -> Stacks:
    """Collect the stacks of the steady steps."""
    from ascend_workbook.profiling.export.flame import collect_stacks

    return collect_stacks(profile.trace, [step.number for step in profile.breakdown.steady])
