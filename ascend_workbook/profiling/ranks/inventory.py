"""What was found: findings about profiles that are missing, doubled, unread or of another run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.number_lists import format_spans
from ascend_workbook.profiling.ranks.cluster import Cluster
from ascend_workbook.profiling.readers.ranks import RankProfiles

CODE = "PRF350"


def find_inventory_faults(
    rank_profiles: RankProfiles, cluster: Cluster, unread: Mapping[int, WorkbookError], others: list[int]
) -> Iterator[Finding]:
    """Yield one finding for each profile that is unread, doubled, missing or of another run."""
    for rank, error in unread.items():
        reason: Scalar = Sentence(error.key, **error.arguments)
        yield Finding("PRF310", Status.FAIL, "PRF310.unread", {"rank": rank, "error": reason})
    for rank, older in rank_profiles.older.items():
        used = rank_profiles.profiles[rank]
        twice: dict[str, Scalar] = {"rank": rank, "count": len(older) + 1, "used": used.name}
        yield Finding(CODE, Status.WARN, "PRF350.twice", twice, Place(str(used)))
    for path in rank_profiles.untold:
        yield Finding(CODE, Status.WARN, "PRF350.untold", {"path": str(path)}, Place(str(path)))
    if others:
        args: dict[str, Scalar] = {"others": list(others), "kept": list(cluster.ranks)}
        yield Finding(CODE, Status.WARN, "PRF350.other_run", args)
    tables = [rank for rank, facts in cluster.ranks.items() if facts.tables_only]
    if tables:
        yield Finding(CODE, Status.NOTE, "PRF350.tables", {"ranks": list(tables)})
    yield from _find_missing_ranks(rank_profiles, cluster)


def _find_missing_ranks(rank_profiles: RankProfiles, cluster: Cluster) -> Iterator[Finding]:
    world = cluster.world_size
    missing = [rank for rank in range(world) if rank not in rank_profiles.profiles]
    if missing:
        args: dict[str, Scalar] = {"ranks": world - len(missing), "world": world, "missing": format_spans(missing)}
        yield Finding(CODE, Status.SKIPPED, "PRF350.missing", args)
