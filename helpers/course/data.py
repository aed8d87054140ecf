"""An answer as the plain data that are judged and kept, so that who grades sees what the notebook saw.

Numbers of NumPy and torch, tuples, paths and subclasses become what they stand for; an object that only looks like an
answer (its own __eq__, its own __float__) is none.
"""

from __future__ import annotations

import json
import math
import unicodedata
from itertools import count
from pathlib import PurePath
from typing import Any

from helpers.course.task import Sentence, sentence

#: Characters of an answer as JSON, values in it, and how deep they may lie.
LARGEST, MOST, DEEPEST = 256 << 10, 20_000, 50
#: Their values have `tolist`: a number for a scalar, nested lists for an array.
ARRAYS = ("numpy", "torch")


class NoData(Exception):
    """The answer is not of plain data; `why` says what stands where."""

    def __init__(self, why: Sentence) -> None:
        super().__init__(why)
        self.why = why


def as_typed(name: str) -> str:
    """A name or a version with what an input method or a web page put into it: full-width letters and digits become
    plain ones, invisible characters and a full stop at the end go."""
    plain = unicodedata.normalize("NFKC", name)
    return "".join(one for one in plain if unicodedata.category(one) != "Cf").strip(" \t\r\n。")


def as_data(answer: Any) -> Any:
    """None, bool, int, float, str, lists and dicts with text for keys: the answer as JSON keeps it. Raises NoData."""
    made = _made(answer, "", count(1))
    if len(json.dumps(made)) > LARGEST:
        raise NoData(sentence("course.trouble.large", most=LARGEST))
    return made


def _made(value: Any, where: str, seen: count[int]) -> Any:
    if next(seen) > MOST or where.count("[") > DEEPEST:
        raise NoData(sentence("course.trouble.large", most=LARGEST))
    if value is None or isinstance(value, (bool, int, float, str, PurePath)):
        return _single(value, where)
    if isinstance(value, dict):
        return {_key(key, where): _made(one, f"{where}[{str(key)[:20]!r}]", seen) for key, one in dict.items(value)}
    if isinstance(value, (list, tuple)):
        items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        return [_made(one, f"{where}[{number}]", seen) for number, one in enumerate(items)]
    if type(value).__module__.partition(".")[0] in ARRAYS and hasattr(value, "tolist"):
        if math.prod(getattr(value, "shape", ())) > MOST:
            raise NoData(sentence("course.trouble.large", most=LARGEST))
        return _made(value.tolist(), where, seen)
    raise NoData(sentence("course.trouble.data", where=where, given=type(value).__name__))


def _single(value: Any, where: str) -> Any:
    """Of a subclass the value itself."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, PurePath):
        return str(value)
    number = float.__float__(value)
    if not math.isfinite(number):
        raise NoData(sentence("course.trouble.finite", where=where, given=repr(number)))
    return number


def _key(key: Any, where: str) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    raise NoData(sentence("course.trouble.key", where=where, given=type(key).__name__))
