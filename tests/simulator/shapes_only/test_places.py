"""Whose line it is: the program's, also where another file's function stands in the place of torch's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ascend_simulator.shapes_only.places import own_frames, place_of

WRAPPER = "def wrap(function):\n    def call():\n        return function()\n    return call\n"


def places_through(folder: Path, **marks: object) -> list[str]:
    """Return the places that are seen where a wrapper of another file stands between, the innermost first."""
    space: dict[str, Any] = dict(marks)
    exec(compile(WRAPPER, str(folder / "wrapper.py"), "exec"), space)
    return [str(place_of(frame)) for frame in space["wrap"](own_frames)()]


def test_a_file_that_says_so_is_passed_over(tmp_path: Path) -> None:
    assert places_through(tmp_path)[0] == "wrapper.py:3"
    passed = places_through(tmp_path, PASSES_THROUGH=True)
    assert passed[0].startswith("test_places.py:") and not any(place.startswith("wrapper.py") for place in passed)


def test_behind_a_tensors_own_function_stands_the_line_that_called_it(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    exec(compile(WRAPPER.replace("call", "__torch_function__"), str(tmp_path / "wrapper.py"), "exec"), space)
    places = [str(place_of(frame)) for frame in space["wrap"](own_frames)()]
    assert places[0].startswith("test_places.py:")
