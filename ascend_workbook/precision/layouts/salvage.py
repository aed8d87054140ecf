"""dump.json that was cut short: the entries that stand whole before the damage.

msprobe writes the whole file anew at every flush, so that a killed run leaves it half written."""

from __future__ import annotations

import json
from typing import Any

DECODER = json.JSONDecoder()


def whole(text: str, inside: str = "data") -> dict[str, Any]:
    """Return the members of the outer object that are whole, and of its member `inside`, which is an object, all that
    are.

    What follows the first damage is not looked at: from there on nothing tells where a member begins."""
    entries: dict[str, Any] = {}
    _read_members(text, 0, entries, inside)
    return entries


def _read_members(text: str, at: int, entries: dict[str, Any], inside: str | None) -> None:
    """Fill `members` up to the object's end or the first damage."""
    try:
        at = _expect_sign(text, at, "{")
        while True:
            key, at = DECODER.raw_decode(text, _skip_blanks(text, at))
            if not isinstance(key, str):
                raise ValueError(f"expected a name at {at}")
            at = _skip_blanks(text, _expect_sign(text, at, ":"))
            if key == inside:
                entries[key] = {}
                return _read_members(text, at, entries[key], None)
            value, at = DECODER.raw_decode(text, at)
            at = _skip_blanks(text, at)
            if text[at : at + 1] not in (",", "}"):
                raise ValueError(f"expected an end at {at}")  # a number may be half of a number
            entries[key] = value
            at = _expect_sign(text, at, ",")
    except (ValueError, RecursionError):
        return None  # the damage, or the end


def _expect_sign(text: str, at: int, sign: str) -> int:
    at = _skip_blanks(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"expected {sign} at {at}")
    return at + 1


def _skip_blanks(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at
