"""A flame graph, roots on top: as wide as the time, one row deeper for what is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ascend_workbook.findings.sentence import say

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Name, depth, start and share of the whole
Frame = tuple[str, int, float, float]
#: The kind of chart, and its place in a report's facts
KIND = "flame"
HOST, DEVICE = ("#f2b35e", "#e98b5a", "#f0c878", "#eb9f7a"), ("#6fa8dc", "#8bb8e0", "#5b93c9", "#9cc4ea")
DEEPEST = 40
#: A frame narrower than this has no name; letters that fit into the whole width
NAMED, LETTERS = 0.03, 145


def height(data: Sequence[Frame]) -> float:
    """Return the height in inches."""
    return 1.1 + 0.2 * (1 + min(DEEPEST, max((depth for _, depth, _, _ in data), default=0)))


def draw(axes: Axes, data: Sequence[Frame], lang: str) -> None:
    """Draw frames of (name, depth, start, share of the whole): host's warm, the device's cool."""
    roots = {name: (start, start + share) for name, depth, start, share in data if not depth}
    device = roots.get("device", (2, 2))
    deepest = min(DEEPEST, max((depth for _, depth, _, _ in data), default=0))
    for name, depth, start, share in data:
        if depth > DEEPEST:
            continue
        colours = DEVICE if device[0] <= start < device[1] else HOST
        colour = colours[sum(map(ord, name)) % len(colours)]
        axes.barh(depth, 100 * share, 0.92, left=100 * start, color=colour, edgecolor="white", linewidth=0.3)
        if share > NAMED:
            write_name(axes, 100 * (start + share / 2), depth, name, share * LETTERS)
    axes.set_xlim(0, 100)
    axes.set_ylim(deepest + 0.6, -0.6)
    axes.set_yticks([])
    axes.tick_params(labelsize=8)
    axes.set_xlabel(say("flame.share", lang), fontsize=8)


def write_name(axes: Axes, x: float, y: float, name: str, letters: float) -> None:
    """Write a name into the middle of its box, cut to so many letters."""
    room = max(3, int(letters))
    text = name if len(name) <= room else f"{name[: room - 1]}…"
    axes.text(x, y, text, ha="center", va="center", fontsize=6, clip_on=True, parse_math=False)
