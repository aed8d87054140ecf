"""What a page tells of a rule, read from its module and from the catalogue."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from helpers.finding import Status
from helpers.words import Scalar, Words, catalogue
from tools.docs.bases import basis
from tools.docs.stages import STAGES, Stage
from tools.docs.statuses import statuses

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = re.compile(r"https?://[^\s\"')>\]；，。]+")
#: What a sentence may begin with in lower case.
NAMES = ("torch", "npu", "numpy", "nn.", "nvidia-smi", "channels_last", "float64", "set_env", "lib")
FEWEST_WORDS = 4
#: What a code's first part is in the catalogue where the rule's sentences are kept under another name.
ITEM = "accept.item."


@dataclass(frozen=True)
class Rule:
    """`looks` is the docstring's first sentence; `numbers` are the module's own constants; `basis` is what it rests on
    besides pages (bases.py)."""

    code: str
    file: str
    looks: str
    statuses: list[Status]
    outcomes: dict[str, Words]
    sources: list[str]
    basis: Scalar
    numbers: dict[str, Any]
    example: str
    near_miss: str


def rules_in(package: str) -> list[Rule]:
    """A folder's rules in the order of their codes."""
    folder = import_module(package)
    modules = [import_module(f"{package}.{found.name}") for found in pkgutil.iter_modules(folder.__path__)]
    return sorted((_rule(module) for module in modules), key=lambda rule: rule.code)


def beside(stage: Stage) -> dict[str, dict[str, Words]]:
    """Codes that no rule's file has, but a command or an overview gives, with their outcomes."""
    filed = {rule.code for package, _ in stage.rules for rule in rules_in(package)}
    codes = {key.partition(".")[0] for key in catalogue() if re.match(r"[A-Z]{3}\d{3}\.", key)}
    return {code: outcomes(code) for code in sorted(codes - filed) if code.startswith(stage.codes)}


def outcomes(code: str) -> dict[str, Words]:
    """Outcome -> sentence and next step; an item of the checklist has one, what it asks."""
    every = {key.partition(".")[2]: words for key, words in catalogue().items() if key.startswith(f"{code}.")}
    asked = catalogue().get(ITEM + code)
    return {"": asked, **every} if asked else every


def first_sentence(doc: str | None) -> str:
    """The first sentence, with the next where it is a name alone; a rule's code before it is left out."""
    text = " ".join((doc or "").split("\n\n")[0].split())
    text = re.sub(r"^[A-Z]{3}\d{3}: ", "", text)
    ends = [found.end() for found in re.finditer(r"[.?](?=\s+[A-Z`]|$)", text)]
    sentence = next((text[:end] for end in ends if len(text[:end].split()) >= FEWEST_WORDS), text)
    return sentence if sentence.startswith(NAMES) else sentence[:1].upper() + sentence[1:]


def _rule(module: ModuleType) -> Rule:
    examples, misses = getattr(module, "EXAMPLES", ()), getattr(module, "NEAR_MISSES", ())
    named = sources(module)
    return Rule(
        module.CODE, str(Path(str(module.__file__)).relative_to(ROOT)), first_sentence(module.__doc__),
        statuses(module), outcomes(module.CODE), named, basis(module, named), dict(_numbers(module)),
        examples[0][0] if examples else "", misses[0] if misses else "",
    )  # fmt: skip


def sources(module: ModuleType) -> list[str]:
    """Addresses that the rule names: constants, what it knows, its docstring, its next steps."""
    texts = [value for name, value in vars(module).items() if name.isupper() and isinstance(value, str)]
    known = getattr(module, "KNOWN", None)
    if known is not None:
        texts += [str(known.link), *map(str, known.links.values())]
    texts.append(module.__doc__ or "")
    texts += [words.hint_en for words in outcomes(module.CODE).values()]
    found = (each.rstrip(".,;:") for text in texts for each in ADDRESS.findall(text))
    return list(dict.fromkeys(found))


def _numbers(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Constants of the module's own that are numbers: what the rule's verdict hangs on."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    for name, value in vars(module).items():
        number = name.isupper() and isinstance(value, (int, float)) and not isinstance(value, bool)
        if number and re.search(rf"^[A-Z_0-9, ]*\b{name}\b.* =", text, re.MULTILINE):
            yield name, value


def places(code: str) -> list[str]:
    """Files of helpers that give the code, the words left out."""
    return _places().get(code, [])


@cache
def _places() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file in sorted((ROOT / "helpers").rglob("*.py")):
        if "words" not in file.parts:
            text = file.read_text(encoding="utf-8")
            for code in sorted(set(re.findall(r"[\"']([A-Z]{3}\d{3})[.\"']", text))):
                found.setdefault(code, []).append(str(file.relative_to(ROOT)))
    return found


def all_rules() -> Iterator[Rule]:
    for stage in STAGES:
        for package, _ in stage.rules:
            yield from rules_in(package)
