"""Where each rank of a run stood that did not end by itself, and whether that is why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.launch import LaunchResult
from ascend_workbook.precision.child.standing import FAILED, meets

FILES = "standing.rank*.json"
Stands = Mapping[int, Mapping[str, Any]]


def check_standing(folder: Path, result: LaunchResult, root: Path) -> None:
    """Raise WorkbookError, with the place of every rank, where one waited in a collective that another does not enter,
    or where the time ran out."""
    stands = read_stands(folder)
    if result.trouble is None or len(stands) < 2:
        return
    parted = find_parted(stands)
    if not parted and result.outcome != "timeout":
        return
    sentences = [describe_stand(stand, root) for _, stand in sorted(stands.items())]
    key = "precision.ranks_parted" if parted else "precision.ranks_waited"
    raise WorkbookError(key, stands=sentences, seconds=round(result.elapsed_s), path=str(folder))


def read_stands(folder: Path) -> dict[int, dict[str, Any]]:
    """Read where each rank stood last; what cannot be read is not told of."""
    stands: dict[int, dict[str, Any]] = {}
    for path in folder.glob(FILES):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            stands[int(content["rank"])] = content
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return stands


def find_parted(stands: Stands) -> bool:
    """Whether a rank stands in a collective that another of its group is not in, and no error of the script explains
    that."""
    if any(stand["status"] == FAILED and "op" not in stand for stand in stands.values()):
        return False
    calls = [(rank, stand) for rank, stand in stands.items() if "op" in stand]
    return any(
        other in stands and stands[other]["status"] != "running" and not meets(stand, stands[other])
        for rank, stand in calls
        for other in stand["group"]
        if other != rank
    )


def describe_stand(stand: Mapping[str, Any], root: Path) -> Sentence:
    """Say where a rank stood."""
    args: dict[str, Scalar] = {
        "rank": int(stand["rank"]),
        "step": int(stand["step"]),
        "place": _shorten(str(stand["place"]), root) or "-",
    }
    if "op" not in stand:
        return Sentence(f"precision.stand_{stand['status']}", **args)
    group = [int(rank) for rank in stand["group"]]
    return Sentence("precision.stand_in", **args, operation=str(stand["op"]), number=int(stand["number"]), group=group)


def _shorten(place: str, root: Path) -> str:
    path, _, line = place.rpartition(":")
    parts: Iterable[str] = Path(path).parts
    return f"{Path(path).relative_to(root)}:{line}" if path and [*parts][: len(root.parts)] == [*root.parts] else place
