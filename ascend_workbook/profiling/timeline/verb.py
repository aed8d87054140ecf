"""`timeline`: every event of one profile, or of two over each other, as an offline page or one that is served."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Report, Table
from ascend_workbook.findings.sentence import Scalar, choose_language, say
from ascend_workbook.machine.number_lists import parse_numbers
from ascend_workbook.profiling.facts import SIMULATED, read_memory, tier_of
from ascend_workbook.profiling.figures import make_columns
from ascend_workbook.profiling.readers import locate_profile, rank_of, rank_profiles_at, read_trace
from ascend_workbook.profiling.readers.ascend import output_of
from ascend_workbook.profiling.readers.choice import ALL
from ascend_workbook.profiling.readers.database import find_database
from ascend_workbook.profiling.timeline.index import Curve, Index, Part, build_index, count_queue
from ascend_workbook.profiling.timeline.page import describe_side, pack_side
from ascend_workbook.profiling.timeline.report import list_memory_curves
from ascend_workbook.profiling.timeline.server import LOOPBACK, Session, make_server, serve
from ascend_workbook.profiling.trace import Trace
from ascend_workbook.storage import refuse_unwritable, write_file

STAGE = "profiling"
#: Events of an offline page: some eleven bytes each
OFFLINE = 500_000
#: Seconds without a question after which a page that is served ends
IDLE_S = 900.0


def show_timeline(
    path: str | os.PathLike[str],
    *,
    baseline: str | os.PathLike[str] | None = None,
    out: str = "",
    serve_page: bool = False,
    ranks: str | Sequence[int] = (),
    steps: str = ALL,
    port: int = 0,
    idle_s: float = IDLE_S,
    tell: Callable[[str], None] | None = None,
    lang: str | None = None,
) -> Report:
    """Show every event of the profile at `path` (as `analyse` takes it; of a folder of several ranks all of them) on a
    timeline; with a `baseline` both over each other. A profile of at most OFFLINE events becomes the offline page
    `out` (timeline.html); a larger one, or any with `serve_page`, is served by this process on this machine alone until
    Ctrl-C, or until no page has asked for `idle_s` seconds; `tell` is given the address. Raises WorkbookError for what
    is no profile, and where an `out` was asked for that cannot hold it."""
    if idle_s <= 0:
        raise WorkbookError("profiling.too_few", name="idle-s", value=idle_s, least=1)
    if out:
        refuse_unwritable(out)
    began = time.monotonic()
    paths = [path] if baseline is None else [path, baseline]
    indexes = [load_index(profile, ranks=ranks, steps=steps) for profile in paths]
    seconds = time.monotonic() - began
    count = sum(map(len, indexes))
    if out and count > OFFLINE:
        raise WorkbookError("timeline.too_large", path=out, events=count, most=OFFLINE)
    labels = ["A", "B"] if len(indexes) > 1 else [""]
    where: dict[str, Scalar] = {}
    if serve_page or count > OFFLINE:
        for index in indexes:
            index.prepare()
        seconds = time.monotonic() - began
        page = render_page([describe_side(index, label) for index, label in zip(indexes, labels)], lang, remote=True)
        session = Session(page.encode("utf-8", "backslashreplace"), indexes)
        server = make_server(session, port)
        for line in describe_address(session.token, server.server_address[1], count, seconds, lang):
            (tell or print)(line)
        ended = serve(server, session, idle_s)
        key = f"PRF340.{ended}"
    else:
        target = out or "timeline.html"
        sides = [pack_side(index, label) for index, label in zip(indexes, labels)]
        write_file(target, render_page(sides, lang, remote=False).encode("utf-8", "backslashreplace"))
        key, where = "PRF340.written", {"path": target}
    args: dict[str, Scalar] = {"events": count, "seconds": round(seconds, 1), **where}
    rows: list[tuple[Scalar, ...]] = [
        (index.source, len(index), len({lane.rank for lane in index.lanes}), len(index.steps), index.span_ns / 1e6)
        for index in indexes
    ]
    columns = make_columns(compare_what="", lane_events="", ranks="", recorded_steps="", timeline_span="ms")
    tier = SIMULATED if any(index.simulated for index in indexes) else indexes[0].tier
    finding = Finding("PRF340", Status.GOOD, key, args)
    return Report(STAGE, "show_timeline", (finding,), Table(columns, tuple(rows)), tier=tier)


def load_index(path: str | os.PathLike[str], *, ranks: str | Sequence[int] = (), steps: str = ALL) -> Index:
    """Load every event of the profile at the path, of all its ranks or of those that `ranks` names."""
    several = rank_profiles_at(Path(path))
    profiles: dict[int, Path] = dict(several.profiles) if several else {rank_of(Path(path)) or 0: Path(path)}
    if ranks:
        wanted = parse_numbers(ranks, "ranks")
        absent: list[Scalar] = [rank for rank in wanted if rank not in profiles]
        if absent:
            raise WorkbookError("PRF350.not_asked", ranks=absent, path=os.fspath(path), here=list(profiles))
        profiles = {rank: profiles[rank] for rank in wanted}
    parts, tier, simulated = [], "", False
    for rank, place in profiles.items():
        profile_path = locate_profile(place)
        trace = read_trace(profile_path, steps)
        tier, simulated = tier or tier_of(trace), simulated or trace.simulated
        parts.append(Part(rank, trace, tuple(read_curves(profile_path, trace))))
    return build_index(parts, tier=tier, simulated=simulated, source=os.fspath(path))


def read_curves(profile_path: Path, trace: Trace) -> Iterator[Curve]:
    """Yield what is known over time: the queue of launched kernels, and what the allocator held."""
    if queue := count_queue(trace):
        yield queue
    folder = profile_path if profile_path.is_dir() else None
    output = output_of(folder) if folder else profile_path.parent
    yield from list_memory_curves(lambda: read_memory(output, find_database(folder) if folder else None))


def render_page(sides: list[dict[str, Any]], lang: str | None, *, remote: bool) -> str:
    """Render the page of these sides; `remote`: it asks the server that it came from."""
    from ascend_workbook.page.render import render_data
    from ascend_workbook.page.texts import in_both

    created = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    data = {"kind": "timeline", "name": in_both(partial(say, "name.show_timeline")), "created": created}
    simulated = any(side["simulated"] for side in sides)
    return render_data({**data, "simulated": simulated, "sides": sides, "remote": remote}, lang)


def describe_address(token: str, port: int, events: int, seconds: float, lang: str | None) -> list[str]:
    """Return the lines that say what to open, in a notebook's session also behind its proxy."""
    lang = choose_language(lang)
    lines = [say("timeline.serving", lang, events=events, seconds=round(seconds, 1))]
    lines.append(f"http://{LOOPBACK}:{port}/{token}/")
    if "JPY_PARENT_PID" in os.environ or "JUPYTERHUB_SERVICE_PREFIX" in os.environ:
        base = os.environ.get("JUPYTERHUB_SERVICE_PREFIX", "/")
        lines.append(say("timeline.proxy", lang, path=f"{base.rstrip('/')}/proxy/{port}/{token}/"))
    lines.append(say("timeline.stop", lang))
    return lines
