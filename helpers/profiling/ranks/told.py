"""What the files beside a profile tell of its rank: how many ranks there are, the groups, the links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers.profiling.ranks.facts import Group, Link, Packets
from helpers.profiling.ranks.recorded import COMMUNICATION, LARGEST, load_json, number, operations, output

METADATA = "profiler_metadata.json"
MATRIX = "communication_matrix.json"
TOTAL = "-total"
SIZES = "Size Distribution"


def metadata(folder: Path) -> dict[str, Any]:
    """profiler_metadata.json of an *_ascend_pt folder; empty where it is not there."""
    file = folder / METADATA
    return load_json(file) if folder.is_dir() and file.is_file() else {}


def world_size(meta: dict[str, Any], about: dict[str, Any], groups: tuple[Group, ...]) -> int:
    """How many ranks the run had, or 0."""
    places = (meta.get("distributed_args"), about.get("distributedInfo"))
    told = [place.get("world_size") for place in places if isinstance(place, dict)]
    sizes = [int(str(size)) for size in told if str(size).isdecimal()]
    return max([*sizes, *(len(group.members) for group in groups)], default=0)


def groups(meta: dict[str, Any], about: dict[str, Any]) -> tuple[Group, ...]:
    """The groups that this rank is in, by torch_npu's metadata or Kineto's distributedInfo."""
    by_npu = meta.get("parallel_group_info")
    told: list[tuple[Any, Any]] = [(one.get("group_name"), one.get("global_ranks")) for one in _dicts(by_npu)]
    distributed = about.get("distributedInfo")
    by_kineto = distributed.get("pg_config") if isinstance(distributed, dict) else None
    told += [(one.get("pg_name"), one.get("ranks")) for one in _dicts(by_kineto)]
    return tuple(Group(str(name), tuple(ranks)) for name, ranks in told if _are_ranks(ranks))


def _dicts(told: Any) -> list[dict[str, Any]]:
    values = told.values() if isinstance(told, dict) else told if isinstance(told, list) else ()
    return [one for one in values if isinstance(one, dict)]


def _are_ranks(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int and one >= 0 for one in value)


def links(folder: Path) -> tuple[list[Link], dict[str, int], dict[str, int]]:
    """Of communication_matrix.json: the links, which member of each group the rank is, and at least how many it has."""
    file = output(folder, MATRIX)
    found: list[Link] = []
    own: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for _, name, group, told in operations(load_json(file)) if file and file.stat().st_size <= LARGEST else ():
        for ends, link in told.items():
            source, _, target = ends.partition("-")
            if not (source.isdecimal() and target.isdecimal() and isinstance(link, dict)):
                continue
            own[group] = int(source)
            sizes[group] = max(sizes.get(group, 0), int(source) + 1, int(target) + 1)
            size, time = (link.get(key, 0) for key in ("Transit Size(MB)", "Transit Time(ms)"))
            if name.endswith(TOTAL) and source != target and number(size) and number(time):
                transport = str(link.get("Transport Type"))
                found.append(Link(group, name[: -len(TOTAL)], int(source), int(target), transport, size, time))
    return found, own, sizes


def packets(folder: Path) -> list[Packets]:
    """Of communication.json: the sizes of what was sent, by transport."""
    file = output(folder, COMMUNICATION)
    summed: dict[tuple[str, float], tuple[int, float]] = {}
    for _, _, _, told in operations(load_json(file)) if file and file.stat().st_size <= LARGEST else ():
        for transport, size, count, time in _sizes(told.get("Communication Bandwidth Info")):
            before = summed.get((transport, size), (0, 0.0))
            summed[transport, size] = before[0] + count, before[1] + time
    return [Packets(transport, size, *told) for (transport, size), told in sorted(summed.items())]


def _sizes(bandwidth: Any) -> Iterator[tuple[str, float, int, float]]:
    for transport, told in bandwidth.items() if isinstance(bandwidth, dict) else ():
        spread = told.get(SIZES) if isinstance(told, dict) else None
        for size, pair in spread.items() if isinstance(spread, dict) else ():
            amount = _amount(size)
            if amount > 0 and isinstance(pair, list) and len(pair) == 2 and all(map(number, pair)):
                yield transport, amount, int(pair[0]), float(pair[1])


def _amount(text: str) -> float:
    """`9.6e-05` -> its value; 0 for what is no number."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if number(value) else 0.0
