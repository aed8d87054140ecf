"""The timeline of one step as a picture: a row a level, boxes coloured by their kind, names where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from ascend_workbook.findings.sentence import say
from ascend_workbook.show.flame import write_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TimelineData(TypedDict):
    """What `ascend_workbook.profiling.timeline.pack_timeline` made: numbers of boxes as words by column."""

    length_ns: int
    kinds: list[str]
    lanes: list[tuple[str, str]]
    names: list[str]
    boxes: dict[str, str]


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


def height(data: TimelineData) -> float:
    """Return the inches that the picture of this many lanes needs."""
    rows = [rows for _, rows in _drawn_lanes(data)]
    return 1.5 + 0.19 * sum(rows) + 0.06 * len(rows)


def draw(axes: Axes, data: TimelineData, lang: str) -> None:
    """Draw what `ascend_workbook.profiling.timeline.pack_timeline` made."""
    from matplotlib.collections import PolyCollection

    column = {name: _parse_numbers(text) for name, text in data["boxes"].items()}
    begin, at = [], 0
    for difference in column["begin"]:
        at += difference
        begin.append(at)
    tops, bottom = {}, 0.0
    for lane, rows in _drawn_lanes(data):
        tops[lane] = bottom
        bottom += rows + 0.35
    width = max(1, data["length_ns"])
    for kind, name in enumerate(data["kinds"]):
        corners = []
        for row, left_ns in enumerate(begin):
            lane, level = column["lane"][row], column["level"][row]
            if column["kind"][row] != kind or lane not in tops or level >= LEVELS:
                continue
            left_edge, top = left_ns / 1e6, tops[lane] + level
            right_edge = left_edge + max(column["length"][row], width / 3000) / 1e6
            corners.append([(left_edge, top), (left_edge, top + 0.9), (right_edge, top + 0.9), (right_edge, top)])
            share, text = column["length"][row] / width, column["name"][row]
            if share > NAMED and text >= 0:
                write_name(axes, (left_edge + right_edge) / 2, top + 0.5, data["names"][text], share * LETTERS)
        boxes = PolyCollection(corners, facecolors=COLOURS[name], edgecolors="white", linewidths=0.2)
        axes.add_collection(boxes)
        if corners:
            axes.bar(0, 0, color=COLOURS[name], label=say(f"timeline.kind.{name}", lang))
    _draw_frame(axes, data, tops, bottom, lang)


def _draw_frame(axes: Axes, data: TimelineData, tops: dict[int, float], bottom: float, lang: str) -> None:
    axes.set_xlim(0, max(1, data["length_ns"]) / 1e6)
    axes.set_ylim(bottom, -0.3)
    labels, before = [], ""
    for lane in tops:
        group, name = data["lanes"][lane]
        title = say(f"timeline.group.{group}", lang)
        labels.append(cut_middle(f"{title}: {name}" if group != before else name, LABEL))
        if before and group != before:
            axes.axhline(tops[lane] - 0.2, color="#8c959f", linewidth=0.6)
        before = group
    axes.set_yticks([top + 0.45 for top in tops.values()], labels, fontsize=7, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    left_out = len(data["lanes"]) - len(tops)
    more = f"; {say('timeline.left_out', lang, count=left_out)}" if left_out else ""
    axes.set_xlabel(say("timeline.time", lang) + more, fontsize=8)
    axes.grid(axis="x", alpha=0.25)
    axes.figure.legend(fontsize=7, loc="outside lower center", ncols=6, frameon=False)


def _drawn_lanes(data: TimelineData) -> list[tuple[int, int]]:
    """Return (lane, levels) of the lanes that are drawn: Python's stacks are too deep for a picture."""
    deepest = dict.fromkeys(range(len(data["lanes"])), 1)
    for lane, level in zip(_parse_numbers(data["boxes"]["lane"]), _parse_numbers(data["boxes"]["level"])):
        deepest[lane] = min(LEVELS, max(deepest[lane], level + 1))
    return [(lane, rows) for lane, rows in deepest.items() if data["lanes"][lane][0] != "python"][:LANES]


def _parse_numbers(text: str) -> list[int]:
    return [int(word) for word in text.split()]


def cut_middle(name: str, room: int) -> str:
    """Cut the middle out of a long name: kernels of templates have names longer than any picture."""
    return name if len(name) <= room else f"{name[: room // 2]}…{name[-room // 2 + 1 :]}"


def describe_picture(data: TimelineData) -> str:
    """Describe the picture in one line of text."""
    boxes: Sequence[int] = _parse_numbers(data["boxes"]["lane"])
    return f"{len(boxes)} boxes in {len(set(boxes))} lanes"
