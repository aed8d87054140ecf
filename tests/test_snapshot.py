"""Names, options, exit codes, shapes and schemas are those written down: `python -m tests.snapshot --write`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.snapshot import FOLDER, PARTS, describe_part, describe_shape


def read_part(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PARTS)
def test_users_find_what_they_had(name: str) -> None:
    written, today = read_part(name), describe_part(name)
    changed = sorted(key for key in {*written, *today} if written.get(key) != today.get(key))
    assert {key: today.get(key) for key in changed} == {key: written.get(key) for key in changed}


def test_every_part_says_something() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == sorted(PARTS)
    options, exits = read_part("options"), read_part("exits")
    assert len(options) > 40 and sum(len(verb["options"]) for verb in options.values()) > 300
    assert set(exits.values()) == {0, 1, 2}


def test_a_shape_keeps_keys_and_types() -> None:
    value = {"a": [1, "x", 2], "b": {"c": None, "d": {"e": {}}}}
    assert describe_shape(value, 2) == {"a": ["int", "str"], "b": {"c": "NoneType", "d": "object"}}
