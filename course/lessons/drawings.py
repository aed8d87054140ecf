"""Drawings that move: an AI Core at work, a value's way through the memories, the task queue, a ring of devices.

Each is boxes and steps; in a step some boxes work and some data move. It is played or stepped through by buttons and
keys, and stands still for who asks for less motion; below it the same as a picture and a list."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import say
from course.lessons.pieces import Piece, make_frame
from course.pages import fill_template

WIDTH, HEIGHT = 720, 240
BOX_HEIGHT = 44


@dataclass(frozen=True)
class Box:
    """A unit, a memory or a device; its name is the end of its words' key."""

    name: str
    x: int
    y: int
    width: int = 120

    @property
    def centre(self) -> tuple[int, int]:
        """Return where lines meet it."""
        return self.x + self.width // 2, self.y + BOX_HEIGHT // 2


@dataclass(frozen=True)
class Step:
    """Boxes that work, and the ways on which data move: `hbm>l1` or, in one go, `cube>fixpipe>memory`."""

    works: str
    ways: str = ""


@dataclass(frozen=True)
class Drawing:
    """The boxes and the steps of one drawing; its words are `course.draw.NAME` and what stands behind it."""

    name: str
    boxes: tuple[Box, ...]
    steps: tuple[Step, ...]
    places: dict[str, tuple[int, int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.places.update({box.name: box.centre for box in self.boxes})

    def label(self, box: str, lang: str | None) -> str:
        """Return what is written into a box."""
        return say(f"course.draw.{self.name}.{box}", lang)

    def caption(self, number: int, lang: str | None) -> str:
        """Return what happens in a step, counted from 1."""
        return say(f"course.draw.{self.name}.step{number}", lang)

    def lines(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield each line between two boxes once."""
        pairs = {
            (start, end)
            for step in self.steps
            for way in step.ways.split()
            for start, end in zip(way.split(">"), way.split(">")[1:])
        }
        for start, end in sorted({tuple(sorted(pair)) for pair in pairs}):
            yield (*self.places[start], *self.places[end])

    def points(self, way: str) -> str:
        """Return the points of a way: `65,122 215,52`."""
        return " ".join("{},{}".format(*self.places[name]) for name in way.split(">"))


CORE = Drawing(
    "core",
    (
        Box("scalar", 300, 8),
        Box("mte", 20, 96),
        Box("cube", 200, 96),
        Box("fixpipe", 400, 96),
        Box("vector", 580, 96),
        Box("memory", 100, 188, 520),
    ),
    (
        Step("scalar", "scalar>mte scalar>cube scalar>vector"),
        Step("mte", "memory>mte>cube"),
        Step("cube mte", "memory>mte"),
        Step("fixpipe", "cube>fixpipe>memory"),
        Step("vector", "memory>vector"),
    ),
)
MEMORY = Drawing(
    "memory",
    (
        Box("hbm", 10, 98, 110),
        Box("l1", 170, 20, 110),
        Box("l0", 310, 20, 110),
        Box("cube", 450, 20, 110),
        Box("l0c", 600, 20, 110),
        Box("ub", 310, 180, 110),
        Box("vector", 500, 180, 110),
    ),
    (
        Step("hbm", "hbm>l1"),
        Step("l1", "l1>l0"),
        Step("cube", "l0>cube>l0c"),
        Step("l0c", "l0c>hbm"),
        Step("hbm", "hbm>ub"),
        Step("vector", "ub>vector>ub"),
        Step("ub", "ub>hbm"),
    ),
)
QUEUE = Drawing(
    "queue",
    (
        Box("python", 10, 98, 110),
        Box("queue", 150, 98, 110),
        Box("cann", 290, 98, 150),
        Box("stream", 470, 98, 100),
        Box("device", 600, 98, 110),
    ),
    (
        Step("python", "python>queue"),
        Step("python cann", "python>queue queue>cann"),
        Step("python cann device", "python>queue queue>cann cann>stream>device"),
        Step("device python", "python>queue"),
        Step("device", "python>cann>stream>device>python"),
    ),
)
ROUND = "first>second second>third third>fourth fourth>first"
RING = Drawing(
    "ring",
    (Box("first", 300, 8), Box("second", 560, 98), Box("third", 300, 188), Box("fourth", 40, 98)),
    (
        Step("first second third fourth"),
        Step("", ROUND),
        Step("first second third fourth", ROUND),
        Step("", ROUND),
        Step("first second third fourth"),
    ),
)
DRAWINGS = {drawing.name: drawing for drawing in (CORE, MEMORY, QUEUE, RING)}


def drawing(name: str, lang: str | None = None) -> Piece:
    """Return a drawing of a lesson. Raises WorkbookError `course.draw.unknown` for a name that is none."""
    if name not in DRAWINGS:
        raise WorkbookError("course.draw.unknown", name=name, names=sorted(DRAWINGS))
    drawn = DRAWINGS[name]
    title = say(f"course.draw.{name}", lang)
    captions = [drawn.caption(number, lang) for number in range(1, len(drawn.steps) + 1)]
    size = {"width": WIDTH, "height": HEIGHT, "box_height": BOX_HEIGHT}
    values = {"drawing": drawn, "title": title, "captions": captions, "lang": lang, **size}
    picture = base64.b64encode(fill_template("drawing.svg.html", still=True, **values).encode()).decode()
    frame = make_frame(fill_template("drawing.html", **values), title, 400)
    text = "\n".join((title, *(f"{number}. {caption}" for number, caption in enumerate(captions, 1))))
    return Piece(frame, fill_template("drawing_still.html", picture=picture, **values), text)
