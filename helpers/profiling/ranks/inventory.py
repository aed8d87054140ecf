"""What was found: findings about profiles that are missing, doubled, unread or of another run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from helpers.errors import WorkbookError
from helpers.finding import Finding, Place, Status
from helpers.number_lists import spans
from helpers.profiling.ranks.cluster import Cluster
from helpers.profiling.readers.ranks import RankProfiles
from helpers.words import Scalar

CODE = "PRF350"


def inventory(
    found: RankProfiles, cluster: Cluster, unread: Mapping[int, WorkbookError], others: list[int]
) -> Iterator[Finding]:
    """One finding for each thing that is not as it should be."""
    for rank, error in unread.items():
        told: Scalar = {"say": error.key, "args": error.arguments}
        yield Finding("PRF310", Status.FAIL, "PRF310.unread", {"rank": rank, "error": told})
    for rank, older in found.older.items():
        used = found.profiles[rank]
        twice: dict[str, Scalar] = {"rank": rank, "count": len(older) + 1, "used": used.name}
        yield Finding(CODE, Status.WARN, "PRF350.twice", twice, Place(str(used)))
    for path in found.untold:
        yield Finding(CODE, Status.WARN, "PRF350.untold", {"path": str(path)}, Place(str(path)))
    if others:
        args: dict[str, Scalar] = {"others": list(others), "kept": list(cluster.ranks)}
        yield Finding(CODE, Status.WARN, "PRF350.other_run", args)
    tables = [rank for rank, one in cluster.ranks.items() if one.tables_only]
    if tables:
        yield Finding(CODE, Status.NOTE, "PRF350.tables", {"ranks": list(tables)})
    yield from _missing(found, cluster)


def _missing(found: RankProfiles, cluster: Cluster) -> Iterator[Finding]:
    world = cluster.world_size
    missing = [rank for rank in range(world) if rank not in found.profiles]
    if missing:
        args: dict[str, Scalar] = {"ranks": world - len(missing), "world": world, "missing": spans(missing)}
        yield Finding(CODE, Status.SKIPPED, "PRF350.missing", args)
