"""The timeline of one step as a picture: a row a level, boxes coloured by their kind, names where there is room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ascend_workbook.findings.sentence import say
from ascend_workbook.show.flame import write_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Columns(NamedTuple):
    """The boxes of a window, a list a column; times in nanoseconds after the window's begin; `name` -1: several."""

    lane: list[int]
    level: list[int]
    kind: list[int]
    begin: list[int]
    length: list[int]
    name: list[int]


def read_boxes(data: Mapping[str, Any], inside: bool = True) -> Columns:
    """Read the boxes of what `ascend_workbook.profiling.timeline.report` packed, those in its window alone."""
    side, (from_ns, to_ns) = data["sides"][0], data["window"]
    columns = {name: _parse_numbers(text) for name, text in side["boxes"].items()}
    place = [(number, level) for number, lane in enumerate(side["lanes"]) for level in range(lane[4])]
    boxes = Columns([], [], [], [], [], [])
    at = 0
    for (lane, level), count in zip(place, _parse_numbers(side["rows"])):
        begin = 0
        for box in range(at, at + count):
            begin += columns["begin"][box]
            left, right = max(begin, from_ns), min(begin + columns["length"][box], to_ns)
            if not inside or left < right or left == begin == right:
                values = (lane, level, columns["kind"][box], left - from_ns, right - left, columns["name"][box])
                for column, value in zip(boxes, values):
                    column.append(value)
        at += count
    return boxes


#: The kind of chart that a report with a timeline has
KIND = "lanes"
COLOURS = {
    "compute": "#5b9bd5",
    "communication": "#ed9a4a",
    "copy": "#6cbf84",
    "communication_task": "#e6c65c",
    "device_other": "#a99bd0",
    "host_op": "#6fc3cf",
    "runtime": "#e08bb0",
    "python": "#a8c66c",
    "loading": "#e0675c",
    "annotation": "#c58fd6",
    "step": "#8f9bd9",
}
#: Levels of a lane and lanes that are drawn; a box that is narrower than this share of the picture has no name
LEVELS, LANES, NAMED = 5, 24, 0.045
#: Letters that fit into a picture's whole width, and those of a lane's name
LETTERS, LABEL = 130, 34


def height(data: Mapping[str, Any]) -> float:
    """Return the inches that the picture of this many lanes needs."""
    rows = [rows for _, rows in _drawn_lanes(data)]
    return 1.5 + 0.19 * sum(rows) + 0.06 * len(rows)


def draw(axes: Axes, data: Mapping[str, Any], lang: str) -> None:
    """Draw the window of what `ascend_workbook.profiling.timeline.report` packed."""
    from matplotlib.collections import PolyCollection

    boxes, side = read_boxes(data), data["sides"][0]
    tops, bottom = {}, 0.0
    for lane, rows in _drawn_lanes(data):
        tops[lane] = bottom
        bottom += rows + 0.35
    width = max(1, data["window"][1] - data["window"][0])
    for kind, name in enumerate(side["kinds"]):
        corners = []
        for lane, level, own_kind, left_ns, length_ns, text in zip(*boxes):
            if own_kind != kind or lane not in tops or level >= LEVELS:
                continue
            left_edge, top = left_ns / 1e6, tops[lane] + level
            right_edge = left_edge + max(length_ns, width / 3000) / 1e6
            corners.append([(left_edge, top), (left_edge, top + 0.9), (right_edge, top + 0.9), (right_edge, top)])
            share = length_ns / width
            if share > NAMED and text >= 0:
                write_name(axes, (left_edge + right_edge) / 2, top + 0.5, side["names"][text], share * LETTERS)
        collection = PolyCollection(corners, facecolors=COLOURS[name], edgecolors="white", linewidths=0.2)
        axes.add_collection(collection)
        if corners:
            axes.bar(0, 0, color=COLOURS[name], label=say(f"timeline.kind.{name}", lang))
    _draw_frame(axes, data, tops, bottom, lang)


def _draw_frame(axes: Axes, data: Mapping[str, Any], tops: dict[int, float], bottom: float, lang: str) -> None:
    axes.set_xlim(0, max(1, data["window"][1] - data["window"][0]) / 1e6)
    axes.set_ylim(bottom, -0.3)
    labels, before = [], ""
    for lane in tops:
        _, group, name, *_ = data["sides"][0]["lanes"][lane]
        title = say(f"timeline.group.{group}", lang)
        labels.append(cut_middle(f"{title}: {name}" if group != before else name, LABEL))
        if before and group != before:
            axes.axhline(tops[lane] - 0.2, color="#8c959f", linewidth=0.6)
        before = group
    axes.set_yticks([top + 0.45 for top in tops.values()], labels, fontsize=7, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    left_out = len(data["sides"][0]["lanes"]) - len(tops)
    more = f"; {say('timeline.left_out', lang, count=left_out)}" if left_out else ""
    axes.set_xlabel(say("timeline.time", lang) + more, fontsize=8)
    axes.grid(axis="x", alpha=0.25)
    axes.figure.legend(fontsize=7, loc="outside lower center", ncols=6, frameon=False)


def _drawn_lanes(data: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return (lane, levels) of the lanes that are drawn: Python's stacks are too deep for a picture."""
    lanes = data["sides"][0]["lanes"]
    return [(at, min(LEVELS, lane[4])) for at, lane in enumerate(lanes) if lane[1] != "python"][:LANES]


def _parse_numbers(text: str) -> list[int]:
    return [int(word) for word in text.split()]


def cut_middle(name: str, room: int) -> str:
    """Cut the middle out of a long name: kernels of templates have names longer than any picture."""
    return name if len(name) <= room else f"{name[: room // 2]}…{name[-room // 2 + 1 :]}"


def describe_picture(data: Mapping[str, Any]) -> str:
    """Describe the picture in one line of text."""
    boxes = read_boxes(data)
    return f"{len(boxes.lane)} boxes in {len(set(boxes.lane))} lanes"
