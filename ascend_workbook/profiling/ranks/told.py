"""What the files beside a profile tell of its rank: how many ranks there are, the groups, the links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ascend_workbook.profiling.ranks.facts import Group, Link, Packets
from ascend_workbook.profiling.ranks.recorded import (
    COMMUNICATION,
    LARGEST,
    find_output_file,
    is_positive_number,
    iterate_operations,
    load_json,
)

METADATA = "profiler_metadata.json"
MATRIX = "communication_matrix.json"
TOTAL = "-total"
SIZES = "Size Distribution"


def read_metadata(folder: Path) -> dict[str, Any]:
    """Read profiler_metadata.json of an *_ascend_pt folder; empty where it is not there."""
    file = folder / METADATA
    return load_json(file) if folder.is_dir() and file.is_file() else {}


def find_world_size(meta: dict[str, Any], about: dict[str, Any], groups: tuple[Group, ...]) -> int:
    """Return how many ranks the run had, or 0."""
    places = (meta.get("distributed_args"), about.get("distributedInfo"))
    stated_sizes = [place.get("world_size") for place in places if isinstance(place, dict)]
    sizes = [int(str(size)) for size in stated_sizes if str(size).isdecimal()]
    return max([*sizes, *(len(group.members) for group in groups)], default=0)


def read_groups(meta: dict[str, Any], about: dict[str, Any]) -> tuple[Group, ...]:
    """Return the groups that this rank is in, by torch_npu's metadata or Kineto's distributedInfo."""
    by_npu = meta.get("parallel_group_info")
    named_ranks: list[tuple[Any, Any]] = [
        (group.get("group_name"), group.get("global_ranks")) for group in _list_dicts(by_npu)
    ]
    distributed = about.get("distributedInfo")
    by_kineto = distributed.get("pg_config") if isinstance(distributed, dict) else None
    named_ranks += [(group.get("pg_name"), group.get("ranks")) for group in _list_dicts(by_kineto)]
    return tuple(Group(str(name), tuple(ranks)) for name, ranks in named_ranks if _are_ranks(ranks))


def _list_dicts(content: Any) -> list[dict[str, Any]]:
    values = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return [value for value in values if isinstance(value, dict)]


def _are_ranks(value: Any) -> bool:
    return isinstance(value, list) and all(type(rank) is int and rank >= 0 for rank in value)


def read_links(folder: Path) -> tuple[list[Link], dict[str, int], dict[str, int]]:
    """Read communication_matrix.json: the links, which member of each group the rank is, how many it has at least."""
    file = find_output_file(folder, MATRIX)
    rank_links: list[Link] = []
    own: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for _, name, group, links_by_ends in (
        iterate_operations(load_json(file)) if file and file.stat().st_size <= LARGEST else ()
    ):
        for ends, link in links_by_ends.items():
            source, _, target = ends.partition("-")
            if not (source.isdecimal() and target.isdecimal() and isinstance(link, dict)):
                continue
            own[group] = int(source)
            sizes[group] = max(sizes.get(group, 0), int(source) + 1, int(target) + 1)
            size, time = (link.get(key, 0) for key in ("Transit Size(MB)", "Transit Time(ms)"))
            if name.endswith(TOTAL) and source != target and is_positive_number(size) and is_positive_number(time):
                transport = str(link.get("Transport Type"))
                rank_links.append(Link(group, name[: -len(TOTAL)], int(source), int(target), transport, size, time))
    return rank_links, own, sizes


def read_packets(folder: Path) -> list[Packets]:
    """Read from communication.json the sizes of what was sent, by transport."""
    file = find_output_file(folder, COMMUNICATION)
    summed: dict[tuple[str, float], tuple[int, float]] = {}
    for _, _, _, values in iterate_operations(load_json(file)) if file and file.stat().st_size <= LARGEST else ():
        for transport, size, count, time in _packet_sizes(values.get("Communication Bandwidth Info")):
            before = summed.get((transport, size), (0, 0.0))
            summed[transport, size] = before[0] + count, before[1] + time
    return [Packets(transport, size, *values) for (transport, size), values in sorted(summed.items())]


def _packet_sizes(bandwidth: Any) -> Iterator[tuple[str, float, int, float]]:
    for transport, attributes in bandwidth.items() if isinstance(bandwidth, dict) else ():
        spread = attributes.get(SIZES) if isinstance(attributes, dict) else None
        for size, pair in spread.items() if isinstance(spread, dict) else ():
            amount = _parse_amount(size)
            if amount > 0 and isinstance(pair, list) and len(pair) == 2 and all(map(is_positive_number, pair)):
                yield transport, amount, int(pair[0]), float(pair[1])


def _parse_amount(text: str) -> float:
    """Return the value of a text such as `9.6e-05`; 0 for what is no number."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if is_positive_number(value) else 0.0
