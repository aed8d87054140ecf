"""Drawings that move: every way leads between boxes, every step has words, the twin says the same without scripts."""

from __future__ import annotations

import base64
import html
import re
import xml.etree.ElementTree as xml

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import load_catalogue
from course.lessons.drawings import BOX_HEIGHT, DRAWINGS, HEIGHT, WIDTH, drawing

NAMES = sorted(DRAWINGS)


@pytest.mark.parametrize("name", NAMES)
def test_boxes_lie_in_the_picture_and_beside_one_another(name: str) -> None:
    boxes = DRAWINGS[name].boxes
    for box in boxes:
        assert box.x >= 0 and box.x + box.width <= WIDTH and box.y >= 0 and box.y + BOX_HEIGHT <= HEIGHT
    for at, box in enumerate(boxes):
        for other in boxes[at + 1 :]:
            beside = box.x + box.width < other.x or other.x + other.width < box.x
            assert beside or abs(box.y - other.y) > BOX_HEIGHT, (box.name, other.name)


@pytest.mark.parametrize("name", NAMES)
def test_steps_name_boxes_and_every_box_is_used(name: str) -> None:
    drawn = DRAWINGS[name]
    named = {word for step in drawn.steps for word in re.split(r"[ >]", f"{step.works} {step.ways}") if word}
    assert named == {box.name for box in drawn.boxes}
    words = {key for key in load_catalogue() if key.startswith(f"course.draw.{name}.")}
    steps = {f"course.draw.{name}.step{number}" for number in range(1, len(drawn.steps) + 1)}
    assert words == steps | {f"course.draw.{name}.{box}" for box in named}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_frame_and_its_twin_say_the_same(name: str, lang: str) -> None:
    drawn, piece = DRAWINGS[name], drawing(name, lang)
    shown = piece._repr_html_()
    frame = html.unescape(re.findall(r'srcdoc="(.*?)" style', shown, re.DOTALL)[0])
    still = shown.partition("</iframe>")[2]
    assert "<script" in frame and "<script" not in still and 'sandbox="allow-scripts"' in shown
    assert "default-src 'none'" in frame and "prefers-reduced-motion" in frame and 'role="status"' in frame
    for number in range(1, len(drawn.steps) + 1):
        caption = drawn.caption(number, lang)
        assert caption in html.unescape(frame) and caption in html.unescape(still) and caption in repr(piece)
    picture = xml.fromstring(base64.b64decode(re.findall(r"base64,([\w+/=]+)", still)[0]))
    texts = [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == [drawn.label(box.name, lang) for box in drawn.boxes]
    addresses = set(re.findall(r"\w+://[^\s\"']+", html.unescape(frame) + still))
    assert addresses <= {"http://www.w3.org/2000/svg"}, "nothing comes from a network"


def test_a_way_goes_from_centre_to_centre() -> None:
    drawn = DRAWINGS["memory"]
    assert drawn.points("hbm>l1") == "65,120 225,42" and (65, 120, 225, 42) in list(drawn.lines())


def test_an_unknown_drawing_is_an_error() -> None:
    with pytest.raises(WorkbookError, match="core, memory, queue, ring"):
        drawing("cor")
