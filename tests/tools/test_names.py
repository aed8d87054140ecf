"""The lint of names: what it refuses, where, and what it lets pass."""

import pytest

from tools import names


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("def told(text):\n    return text\n", [1]),
        ("def _told(text):\n    return text\n", [1]),
        ("def describe(one):\n    return one\n", [1]),
        ("first = 1\nfound = 2\n", [2]),
        ("values = [one for one in range(3)]\n", [1]),
        ("def rounded():\n    pass\n\n\ndef _written():\n    pass\n", [1, 5]),
        ("try:\n    pass\nexcept OSError as said:\n    pass\n", [3]),
        ("class Row:\n    def passed(self):\n        told = 1\n", [2, 3]),
        ("with open('a') as made:\n    pass\n", [1]),
    ],
)
def test_the_old_dialect_is_refused_at_its_line(code: str, lines: list[int]) -> None:
    assert [int(row.split(":")[1]) for row in names.refusals(code, "a.py")] == lines


@pytest.mark.parametrize(
    "code",
    [
        "def feed(reader):\n    return reader.found\n",
        "def need_embed(values):\n    return [value for value in values]\n",
        "from a import given\nmatch = given(1)\n",
        "def round_up(rounded):\n    return rounded\n",
        "def set_aside():\n    pass\n",
        "class Row:\n    kept: int = 0\n    told = 1\n",
        "class Row:\n    @property\n    def passed(self):\n        return 1\n",
    ],
)
def test_other_names_pass(code: str) -> None:
    assert not list(names.refusals(code, "a.py"))


def test_the_report_counts(tmp_path) -> None:
    path = tmp_path / "a.py"
    path.write_text(
        "from typing import Any\n\n\ndef told(one: Any) -> None:\n    pass\n\n\ndef __init__():\n    pass\n"
    )
    counts = names.measure([path])
    expected = {"files": 1, "lines": 9, "functions": 1, "one word": 1, "participles": 1, "dialect": 2, "Any": 1}
    assert counts == expected


def test_the_exit_code_says_whether_a_name_was_refused(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "tools").mkdir()
    monkeypatch.setattr(names, "ROOT", tmp_path)
    (tmp_path / "tools" / "a.py").write_text("match = 1\n")
    assert names.main([]) == 0
    (tmp_path / "tools" / "a.py").write_text("found = 1\n")
    assert names.main([]) == 1
    assert "tools/a.py:1: variable found" in capsys.readouterr().out
