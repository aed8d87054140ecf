"""What a lesson's cell shows that can be clicked: a page in a frame of its own, and below it the same as a list.

The frame's scripts reach nothing but the frame. In a notebook that is not trusted, and for a screen reader that prefers
it, the list is left; where nothing is drawn at all, one line of text."""

from __future__ import annotations

from dataclasses import dataclass

from course.pages import fill_template


@dataclass(frozen=True)
class Piece:
    """A frame (HTML), its twin without scripts (HTML), and the line that stands where neither can be drawn."""

    frame: str
    still: str
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.frame + self.still


def make_frame(page: str, name: str, height: int) -> str:
    """Put a page into a frame `height` pixels tall, in which its scripts alone may run."""
    return fill_template("frame.html", page=page, name=name, height=height)
