"""What a plugin is offered: calls after an import, and notes with the program's own line."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest

from ascend_workbook.machine.launch.child.offers import Offers, is_library


class Offering(Offers):
    """As much of an observer as the offers need."""

    def __init__(self, out: Path) -> None:
        self.out = out


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module that was not imported yet."""
    (tmp_path / "looked_for.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, "looked_for", raising=False)
    return "looked_for"


def test_two_plugins_wait_for_one_module(tmp_path: Path, module: str) -> None:
    told: list[tuple[str, int]] = []
    offers = Offering(tmp_path)
    offers.after_import({module: lambda found: told.append(("first", found.value))})
    offers.after_import({module: lambda found: told.append(("second", found.value))})
    __import__(module)
    assert sorted(told) == [("first", 1), ("second", 1)]
    assert sys.modules[module].__spec__ is not None
    __import__(module)
    assert len(told) == 2


def test_a_module_that_is_there_already_is_told_at_once(tmp_path: Path, module: str) -> None:
    told: list[types.ModuleType] = []
    Offering(tmp_path).after_import({"json": told.append})
    assert told == [json]


def test_notes_hold_each_thing_once_with_the_line_of_the_program(tmp_path: Path) -> None:
    notes = Offering(tmp_path).open_notes("notes.jsonl")
    for name in ("a", "a", "b"):
        notes.add("kind", name, size=3)
    lines = [json.loads(line) for line in (tmp_path / "notes.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(line["name"], line["size"], Path(line["file"]).name) for line in lines] == [
        ("a", 3, "test_offers.py"),
        ("b", 3, "test_offers.py"),
    ]


@pytest.mark.parametrize(
    ("file", "library"),
    [
        ("/home/me/site-packages/timm/models.py", True),
        ("/usr/lib/python3/dist-packages/six.py", True),
        ("<frozen importlib._bootstrap>", True),
        (json.__file__, True),
        ("/home/me/my-site-packages-fork/train.py", False),
    ],
)
def test_whose_file_it_is(file: str, library: bool) -> None:
    assert is_library(file) is library


def test_a_line_behind_a_library_and_a_plugin_is_the_programs(tmp_path: Path) -> None:
    space: dict[str, object] = {"__name__": "library", "offers": Offering(tmp_path)}
    code = "def ask():\n    return offers.find_caller()\n"
    exec(compile(code, "/x/site-packages/library.py", "exec"), space)
    plugin: dict[str, object] = {"PASSES_THROUGH": True, **space}
    exec(compile("def call():\n    return ask()\n", "/x/plugin.py", "exec"), plugin)
    program: dict[str, object] = {"call": plugin["call"]}
    exec(compile("\n\nplace = call()\n", "/x/train.py", "exec"), program)
    assert program["place"] == ("/x/train.py", 3)
