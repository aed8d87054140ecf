"""The files that `analyse` writes beside its report: timeline, Perfetto trace, flame graph."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.errors import WorkbookError
from helpers.finding import Finding, Status
from helpers.profiling.export import ENDINGS
from helpers.profiling.facts import Profile
from helpers.profiling.readers.ascend import FOLDER
from helpers.report import Chart, Column, Report, Table
from helpers.storage import refuse_unwritable, write_file
from helpers.words import Scalar

if TYPE_CHECKING:
    from helpers.profiling.export.flame import Stacks

ROWS = 40


def refuse(files: Mapping[str, str], profiles: Sequence[str | os.PathLike[str]]) -> None:
    """Raises WorkbookError or OSError where one of the files cannot be written, or would lie over or in one of the
    `profiles`: before a long reading, not after."""
    read = [Path(profile).resolve() for profile in profiles]
    for kind, path in files.items():
        if not path.endswith(ENDINGS[kind]):
            raise WorkbookError("profiling.picture_kind", path=path, wanted=list(ENDINGS[kind]))
        target = Path(path).resolve()
        inside = [one for one in read if one == target or one in target.parents]
        if inside or any(above.name.endswith(FOLDER) for above in target.parents):
            raise WorkbookError("profiling.over_profile", path=path, option=f"--{kind}")
        refuse_unwritable(path)


def export(profile: Profile, timeline: Report, files: Mapping[str, str], lang: str | None = None) -> None:
    """Writes each kind of file (ENDINGS) to the path given for it; `timeline` is the report of that name."""
    for kind, path in files.items():
        if kind == "perfetto":
            from helpers.profiling.export.perfetto import write_perfetto

            write_perfetto(profile.trace, path)
        elif path.endswith(".txt"):
            write_file(path, _steady(profile).collapsed().encode("utf-8", "backslashreplace"))
        elif path.endswith(".html"):
            write_file(path, timeline.html(lang).encode("utf-8", "backslashreplace"))
        else:
            figure = (timeline if kind == "timeline" else flame(profile)).figure(lang)
            figure.savefig(path, dpi=130, facecolor="white")


def flame(profile: Profile) -> Report:
    """The stacks of the steady steps as a flame graph: a row for each of the frames with most time of their own."""
    from helpers.profiling.export.flame import boxes

    found = _steady(profile)
    own: dict[str, int] = {}
    for name, spent in zip(found.frame, found.self_ns):
        own[name] = own.get(name, 0) + spent
    costly = sorted(own.items(), key=lambda one: (-one[1], one[0]))[:ROWS]
    steps = len(profile.breakdown.steady)
    rows: tuple[tuple[Scalar, ...], ...] = tuple((name, spent / steps / 1e6) for name, spent in costly if spent)
    laid = [[one.name, one.depth, round(one.start, 6), round(one.share, 6)] for one in boxes(found)]
    finding = Finding("PRF341", Status.OK, "PRF341.drawn", {"stacks": len(found.frame), "frames": len(laid)})
    table = Table((Column("operator"), Column("self_time", "ms")), rows)
    chart = Chart("flame", "operator", ("self_time",), "ms")
    return Report("profiling", "flame", (finding,), table, chart, facts={"flame": laid}, tier=profile.tier)


def _steady(profile: Profile) -> Stacks:
    from helpers.profiling.export.flame import stacks

    return stacks(profile.trace, [step.number for step in profile.breakdown.steady])
