"""dump.json that was cut short: the entries that stand whole before the damage.

msprobe writes the whole file anew at every flush, so that a killed run leaves it half written.
"""

from __future__ import annotations

import json
from typing import Any

DECODER = json.JSONDecoder()


def whole(text: str, inside: str = "data") -> dict[str, Any]:
    """Members of the outer object that are whole, and of its member `inside`, which is an object, all that are.

    What follows the first damage is not looked at: from there on nothing tells where a member begins.
    """
    found: dict[str, Any] = {}
    _members(text, 0, found, inside)
    return found


def _members(text: str, at: int, found: dict[str, Any], inside: str | None) -> None:
    """Fills `found` up to the object's end or the first damage."""
    try:
        at = _after(text, at, "{")
        while True:
            key, at = DECODER.raw_decode(text, _blank(text, at))
            if not isinstance(key, str):
                raise ValueError(f"expected a name at {at}")
            at = _blank(text, _after(text, at, ":"))
            if key == inside:
                found[key] = {}
                return _members(text, at, found[key], None)
            value, at = DECODER.raw_decode(text, at)
            at = _blank(text, at)
            if text[at : at + 1] not in (",", "}"):
                raise ValueError(f"expected an end at {at}")  # a number may be half of a number
            found[key] = value
            at = _after(text, at, ",")
    except (ValueError, RecursionError):
        return None  # the damage, or the end


def _after(text: str, at: int, sign: str) -> int:
    at = _blank(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"expected {sign} at {at}")
    return at + 1


def _blank(text: str, at: int) -> int:
    while text[at : at + 1].isspace():
        at += 1
    return at
