"""Every sentence a user reads, in English and Chinese, by key, from the files of `locale/`.

Reports and findings keep the key and its arguments; the sentence is made when it is shown, so one report reads in
either language.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from string import Formatter
from typing import Any, NoReturn, Union

LANGUAGES = ("en", "zh")
#: Names of arguments in reports before schema 2
RENAMED = {"WARN": "look", "SKIPPED": "not_looked"}
#: Sentences of reports before schema 2 that are others
REPLACED = {"run.green": "status.GOOD", "run.red": "status.FIX", "RUN400.reused": "RUN400.good"}
LOCALE = Path(__file__).resolve().parents[1] / "locale"
#: A table's heading or an entry of it. The files are TOML of one form, which tests compare with a TOML reader's result:
#: a table a sentence, an entry a line, JSON's escapes. So they are read ten times faster, on Python 3.9 too.
LINE = re.compile(r'^(?:\[(".*")\]|(\w+) = (".*"))$', re.MULTILINE)
#: What an argument of a sentence may be.
Scalar = Union[str, int, float, bool, None, "list[Any]", "Sentence"]


@dataclass(frozen=True)
class Words:
    """One sentence in both languages and, where there is one, the next step."""

    en: str
    zh: str
    hint_en: str = ""
    hint_zh: str = ""


class Sentence(dict[str, Any]):
    """A sentence of the catalogue with what fills it. It cannot be changed; in JSON it is {"say": key, "args": {...}}.

    Raises KeyError where the catalogue has no such sentence or one of its arguments is missing.
    """

    kind = "say"

    def __init__(self, key: str | Iterable[tuple[str, object]], /, **args: Scalar) -> None:
        if isinstance(key, str):
            missing = argument_names(key) - args.keys()
            if missing:
                raise KeyError(f"the sentence {key!r} lacks {', '.join(sorted(missing))}")
            super().__init__({self.kind: key, "args": args} if args else {self.kind: key})
        else:  # the pairs of its JSON form, as dataclasses.asdict copies a mapping
            super().__init__(key)

    @property
    def key(self) -> str:
        """The sentence's key in the catalogue."""
        return str(self[self.kind])

    @property
    def args(self) -> dict[str, Scalar]:
        """What fills the sentence, by name."""
        return dict(self.get("args", {}))

    def text(self, lang: str | None = None) -> str:
        """Return the sentence in the language."""
        return say(self.key, lang, **self.args)

    def refuse_change(self, *_: object, **__: object) -> NoReturn:
        """Raise TypeError: who needs another sentence makes another."""
        raise TypeError("a sentence cannot be changed")

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = clear = setdefault = refuse_change

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (tuple(self.items()),)


class NextStep(Sentence):
    """The next step that belongs to a sentence of the catalogue. In JSON it is {"hint": key, "args": {...}}."""

    kind = "hint"

    def text(self, lang: str | None = None) -> str:
        """Return the next step in the language."""
        return hint(self.key, lang, **self.args)


def restore_sentence(value: Any) -> Any:
    """Return a sentence for its JSON form, also inside lists; any other value as it is.

    An argument that today's sentence has and an older version did not keep is None.
    """
    if isinstance(value, (list, tuple)):
        return type(value)(restore_sentence(item) for item in value)
    for cls in (Sentence, NextStep):
        if isinstance(value, dict) and isinstance(key := value.get(cls.kind), str):
            key = REPLACED.get(key, key)
            return cls(key, **complete_arguments(key, value.get("args") or {}))
    return value


@cache
def load_catalogue() -> dict[str, Words]:
    """Return all sentences of all files by key. Raises ValueError where two files define one key."""
    entries: dict[str, dict[str, str]] = {}
    for path in locale_files():
        file = read_locale(path)
        twice = entries.keys() & file.keys()
        if twice:
            raise ValueError(f"{path.name} defines again: {sorted(twice)}")
        entries.update(file)
    return {key: Words(**entry) for key, entry in entries.items()}


def locale_files() -> list[Path]:
    """Return the files of sentences: the engine's own, and those of the simulator's errors where that is installed."""
    simulator = find_spec("ascend_simulator")
    folders = [LOCALE, *(Path(place, "locale") for place in (simulator and simulator.submodule_search_locations) or ())]
    return [path for folder in folders for path in sorted(folder.glob("*.toml"))]


def read_locale(path: Path) -> dict[str, dict[str, str]]:
    """Return the tables of one file of `locale/`: key -> {"en": ..., "zh": ..., "hint_en": ..., "hint_zh": ...}."""
    tables: dict[str, dict[str, str]] = {}
    lines = LINE.findall(path.read_text(encoding="utf-8"))
    texts: list[str] = json.loads(f"[{','.join(heading or text for heading, _, text in lines)}]")
    for (heading, name, _), text in zip(lines, texts):
        if heading and text in tables:
            raise ValueError(f"{path.name} defines {text!r} twice")
        if heading:
            table = tables[text] = {}
        else:
            table[name] = text
    return tables


@cache
def argument_names(key: str) -> frozenset[str]:
    """Return the names that the sentence `key` and its next step are filled with. Raises KeyError without one."""
    words = words_of(key)
    texts = (words.en, words.zh, words.hint_en, words.hint_zh)
    fields = (name for text in texts for _, name, _, _ in Formatter().parse(text) if name)
    return frozenset(name.partition(".")[0].partition("[")[0] for name in fields)


def words_of(key: str) -> Words:
    """Return the catalogue's entry of the sentence. Raises KeyError where there is none."""
    try:
        return load_catalogue()[key]
    except KeyError:
        raise KeyError(f"no words for {key!r} in {LOCALE.name}/") from None


def choose_language(requested: str | None = None) -> str:
    """Return `zh` or `en`: as asked, else ASCEND_WORKBOOK_LANG, else the locale, else English."""
    if requested:
        if requested not in LANGUAGES:
            raise ValueError(f"language {requested!r}: expected one of {', '.join(LANGUAGES)}")
        return requested
    setting = os.environ.get("ASCEND_WORKBOOK_LANG")
    if setting in LANGUAGES:
        return str(setting)
    places = (os.environ.get(name, "") for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "zh" if next(filter(None, places), "").startswith("zh") else "en"


def say(key: str, lang: str | None = None, /, **args: Scalar) -> str:
    """Return the sentence `key` in the language, its `{names}` filled from `args`."""
    return fill_template(words_of(key).zh if choose_language(lang) == "zh" else words_of(key).en, lang, args)


def hint(key: str, lang: str | None = None, /, **args: Scalar) -> str:
    """Return the next step that belongs to the sentence, or an empty string."""
    return fill_template(words_of(key).hint_zh if choose_language(lang) == "zh" else words_of(key).hint_en, lang, args)


def title(name: str, lang: str | None = None) -> str:
    """Return the heading of a table column, chart axis or stage."""
    return say(f"name.{name}", lang)


def fill_template(template: str, lang: str | None, args: Mapping[str, Scalar]) -> str:
    """Return the template with each `{name}` replaced by its argument as a reader sees it."""
    return template.format(**{name: show(value, choose_language(lang)) for name, value in args.items()})


def complete_arguments(key: str, args: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Return the arguments of a sentence that an older version kept; those it did not keep are None."""
    restored = {RENAMED.get(name, name): restore_sentence(value) for name, value in args.items()}
    names = argument_names(key) if key in load_catalogue() else ()
    return {**dict.fromkeys(names), **restored}


def show(value: object, lang: str) -> str:
    """Return one value as a reader sees it: lists joined, floats to 4 significant digits, sentences said."""
    if isinstance(value, dict):
        value = restore_sentence(value)
    if isinstance(value, Sentence):
        return value.text(lang)
    if isinstance(value, (list, tuple)):
        return ("、" if lang == "zh" else ", ").join(show(item, lang) for item in value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return "-" if value is None else str(value)
