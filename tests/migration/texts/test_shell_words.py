"""What a shell's names stand for."""

from __future__ import annotations

import pytest

from ascend_workbook.migration.texts import shell_words


@pytest.mark.parametrize(
    ("name", "value"),
    [("0", None), ("1", ["x"]), ("2", ["y"]), ("3", None), ("@", ["x", "y"]), ("A", ["a"]), ("B", ["b"]), ("C", None)],
)
def test_which_names_are_set_and_to_what(name: str, value: list[str] | None) -> None:
    """Arguments count from 1; what the script sets comes before what it was started with."""
    known = shell_words.Variables("scripts", ("x", "y"), {"A": "outside", "B": "b"}, {"A": ["a"]})
    assert known.is_set(name) is (value is not None)
    if value is not None:
        assert known.look_up(name, f"${name}") == value
        return
    with pytest.raises(shell_words.NotPlain):
        known.look_up(name, f"${name}")
