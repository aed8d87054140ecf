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

from ascend_workbook.findings.sentence import Sentence

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
    """Return a name or a version without what an input method or a web page put into it: full-width letters and digits
    become plain ones, invisible characters and a full stop go."""
    plain = unicodedata.normalize("NFKC", name)
    return "".join(character for character in plain if unicodedata.category(character) != "Cf").strip(" \t\r\n。")


def as_data(answer: object) -> object:
    """Return the answer as JSON keeps it: scalars, lists and dicts with text for keys. Raises NoData."""
    data = _convert_value(answer, "", count(1))
    if len(json.dumps(data)) > LARGEST:
        raise NoData(Sentence("course.trouble.large", most=LARGEST))
    return data


def _convert_value(value: object, where: str, counter: count[int]) -> object:
    if next(counter) > MOST or where.count("[") > DEEPEST:
        raise NoData(Sentence("course.trouble.large", most=LARGEST))
    if value is None or isinstance(value, (bool, int, float, str, PurePath)):
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
            raise NoData(Sentence("course.trouble.finite", where=where, given=repr(number)))
        return number
    if isinstance(value, dict):
        return {
            _convert_key(key, where): _convert_value(item, f"{where}[{str(key)[:20]!r}]", counter)
            for key, item in dict.items(value)
        }
    if isinstance(value, (list, tuple)):
        items = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
        return [_convert_value(item, f"{where}[{number}]", counter) for number, item in enumerate(items)]
    if type(value).__module__.partition(".")[0] in ARRAYS and hasattr(value, "tolist"):
        if math.prod(getattr(value, "shape", ())) > MOST:
            raise NoData(Sentence("course.trouble.large", most=LARGEST))
        return _convert_value(value.tolist(), where, counter)
    raise NoData(Sentence("course.trouble.data", where=where, given=type(value).__name__))


def _convert_key(key: object, where: str) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    raise NoData(Sentence("course.trouble.key", where=where, given=type(key).__name__))
