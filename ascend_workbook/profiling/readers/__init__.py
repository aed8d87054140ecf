"""One reader for every profile: a file or folder in, a Trace out."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.profiling.readers import ascend, database, kineto, tables
from ascend_workbook.profiling.readers.choice import ALL
from ascend_workbook.profiling.readers.cutting import cut_to_steps, read_chosen_steps
from ascend_workbook.profiling.trace import Trace

SCRIPTS = (".py", ".ipynb", ".sh")
TRACES = ("*.json", "*.json.gz")
DATA = "data"  # where `profile` puts them, in the folder it is given
TRACE_NAME = "trace"  # torch's own handlers and ours call them *.pt.trace.json; other JSON lies beside them


def read_trace(path: str | os.PathLike[str], steps: str = ALL) -> Trace:
    """Read the profile at `path`: a Chrome trace of torch.profiler (.json, .json.gz), an `*_ascend_pt` folder, or a
    folder that holds exactly one of these. `steps`: which steps, `auto` (of a large trace some, see choice), `all`, or
    numbers such as `40-60`. Raises WorkbookError where there is none, where there are several, or where the file is
    broken."""
    profile_path = locate_profile(Path(path))
    if profile_path.is_dir():
        return _read_folder(profile_path, steps)
    return read_chosen_steps(
        profile_path, steps, lambda file: (kineto if kineto.is_kineto(file) else ascend).read_timeline(file)
    )


def _read_folder(folder: Path, steps: str) -> Trace:
    """Read the richest that the folder holds: its timeline, its database, its table of kernels."""
    output, exported = ascend.output_of(folder), database.find_database(folder)
    timeline = output is not None and (output / ascend.TIMELINE).is_file()
    if timeline or exported is None:
        return ascend.read_folder(folder, steps)
    return cut_to_steps(database.read_database(exported), steps)


def find_trace_file(path: Path) -> Path | None:
    """Return the file with the timeline of the one profile at the path, None where there is none."""
    try:
        profile_path = locate_profile(path)
    except WorkbookError:
        return None  # reading it says what is wrong
    output = ascend.output_of(profile_path) if profile_path.is_dir() else None
    file = output / ascend.TIMELINE if output else profile_path
    return file if file.is_file() else None


def read_step_table(folder: Path) -> dict[int, dict[str, int]]:
    """Return what the profiler's own table says of each step, in nanoseconds by column; empty where there is none."""
    for output in (folder / ascend.OUTPUT, folder):
        if (output / tables.STEPS).is_file():
            return tables.read_step_times(output / tables.STEPS)
        if (output / database.ANALYSIS).is_file():
            return database.read_step_times(output / database.ANALYSIS)
    return {}


def locate_profile(path: Path) -> Path:
    """Return the one profile at or below the path."""
    if not path.exists():
        raise WorkbookError("profiling.no_such_path", path=str(path))
    if path.is_file() and path.suffix in SCRIPTS:
        raise WorkbookError("profiling.a_script", path=str(path), quoted=shlex.quote(str(path)))
    if path.is_file() or path.name.endswith(ascend.FOLDER) or ascend.output_of(path) or database.find_database(path):
        return path
    profiles = _profiles_below(path)
    if not profiles:
        raise WorkbookError("profiling.no_profile", path=str(path))
    if len(profiles) > 1:
        names = [str(profile.relative_to(path)) for profile in profiles[:8]]
        raise WorkbookError("profiling.many_profiles", path=str(path), count=len(profiles), names=names)
    return profiles[0]


def rank_profiles_at(path: Path) -> RankProfiles | None:
    """Return the profiles of a folder that holds some of several ranks, else None."""
    if not path.is_dir() or path.name.endswith(ascend.FOLDER):
        return None
    rank_profiles = group_by_rank(_profiles_below(path))
    return rank_profiles if len(rank_profiles.profiles) > 1 else None


def _profiles_below(path: Path) -> list[Path]:
    folders = [folder for folder in sorted(path.glob(f"**/*{ascend.FOLDER}")) if folder.is_dir()]
    return folders or _find_traces(path, "") or _find_traces(path, f"{DATA}/") or _find_traces(path, "*/")


def _find_traces(path: Path, below: str) -> list[Path]:
    """Return the files called traces, else those named after a rank."""
    trace_files = sorted(file for like in TRACES for file in path.glob(below + like))
    return [trace for trace in trace_files if TRACE_NAME in trace.name] or [
        trace for trace in trace_files if RANK.search(trace.name)
    ]


RANK = re.compile(r"rank[-_]?(\d+)(?!\d)", re.IGNORECASE)
INFO = re.compile(r"profiler_info_(\d+)\.json")
#: torch.profiler writes this before the events
OWN = re.compile(rb'"distributedInfo"\s*:\s*(\{)')
HEAD = 2**17
#: When it was made: 20260101120000000 (torch_npu's folders), 1623143089861 (torch's files)
STAMP = re.compile(r"(?<!\d)(\d{13,17})(?!\d)")


@dataclass(frozen=True)
class RankProfiles:
    """Rank -> its profile, in order. `older`: further profiles of a rank, of which the newest is used; `untold`: those
    that do not tell their rank."""

    profiles: dict[int, Path]
    older: dict[int, list[Path]] = field(default_factory=dict)
    untold: list[Path] = field(default_factory=list)


def group_by_rank(profiles: list[Path]) -> RankProfiles:
    """Return the profiles by the rank that each belongs to."""
    paths_of_rank: dict[int, list[Path]] = {}
    without_rank: list[Path] = []
    for profile in profiles:
        rank = rank_of(profile)
        (without_rank if rank is None else paths_of_rank.setdefault(rank, [])).append(profile)
    newest_last = {rank: sorted(paths_of_rank[rank], key=_creation_order) for rank in sorted(paths_of_rank)}
    older = {rank: paths[:-1] for rank, paths in newest_last.items() if len(paths) > 1}
    return RankProfiles({rank: paths[-1] for rank, paths in newest_last.items()}, older, without_rank)


def rank_of(profile: Path) -> int | None:
    """Return the rank of a trace file or an `*_ascend_pt` folder, or None."""
    inside = [info.name for info in profile.glob("profiler_info_*.json")] if profile.is_dir() else []
    rank = next((int(info.group(1)) for info in map(INFO.fullmatch, inside) if info), None)
    if rank is None and profile.is_file():
        rank = _own_rank(profile)
    if rank is not None:
        return rank
    match = RANK.search(profile.name) or RANK.fullmatch(profile.parent.name)
    return int(match.group(1)) if match else None


def _own_rank(file: Path) -> int | None:
    """Return the rank in the distributedInfo before the file's events; a broken file says nothing here."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            head = stream.read(HEAD)
    except (OSError, EOFError, zlib.error):
        return None
    match = OWN.search(head)
    if not match:
        return None
    try:
        info, _ = json.JSONDecoder().raw_decode(head[match.start(1) :].decode("utf-8", "replace"))
    except ValueError:
        return None
    rank = info.get("rank")
    return rank if type(rank) is int and rank >= 0 else None


def _creation_order(profile: Path) -> tuple[str, int]:
    stamp = STAMP.search(profile.name)
    return stamp.group(1) if stamp else "", profile.stat().st_mtime_ns
