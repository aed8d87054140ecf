"""A stage's page as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from helpers.finding import Status
from helpers.words import Words
from tools.docs.bases import told
from tools.docs.chinese import translated
from tools.docs.labels import label
from tools.docs.rules import Rule, beside, places, rules_in
from tools.docs.stages import STAGES, Stage
from tools.docs.tables import tables
from tools.docs.verbs import commands, function

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "stages"
ENDINGS = {"en": ".md", "zh": ".zh-CN.md"}
#: A source's name on the page is its host and the last of its path.
LONGEST_NAME = 60


def pages() -> dict[Path, str]:
    """Every page's file and text."""
    return {FOLDER / f"{stage.name}{ending}": page(stage, lang) for stage in STAGES for lang, ending in ENDINGS.items()}


def page(stage: Stage, lang: str) -> str:
    parts = [*_head(stage, lang), *_commands(stage, lang), *_functions(stage, lang), *_rules(stage, lang),
             *_beside(stage, lang), *_tables(stage, lang)]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def sentences() -> Iterator[str]:
    """All that a page takes from the code in English."""
    for stage in STAGES:
        for command in (one for verb in stage.verbs for one in commands(verb)):
            yield command.first
            yield from (told for _, told in command.options)
        yield from (function(name).first for name in stage.functions)
        yield from (rule.looks for package, _ in stage.rules for rule in rules_in(package))


def _head(stage: Stage, lang: str) -> Iterator[str]:
    yield f"# {_of(stage.title, lang)}"
    yield label("other", lang).format(name=stage.name)
    yield f"{_of(stage.about, lang)}{'' if lang == 'zh' else ' '}{label('made', lang)}"


def _commands(stage: Stage, lang: str) -> Iterator[str]:
    yield f"## {label('commands', lang)}"
    yield label("common", lang)
    for verb in stage.verbs:
        for command in commands(verb):
            yield f"### `{command.name}`"
            yield translated(command.first, lang)
            if command.examples:
                yield _block(command.examples, "bash")
            rows = [(f"`{written}`", translated(told, lang)) for written, told in command.options]
            if rows:
                yield _table((label("option", lang), label("does", lang)), rows)


def _functions(stage: Stage, lang: str) -> Iterator[str]:
    yield f"## {label('functions', lang)}"
    yield label("import", lang)
    for name in stage.functions:
        found = function(name)
        yield f"### `{name}()`"
        yield _block([found.signature], "python")
        yield translated(found.first, lang)


def _rules(stage: Stage, lang: str) -> Iterator[str]:
    yield f"## {label('rules', lang)}"
    yield label("about_rules", lang)
    for package, title in stage.rules:
        yield f"### {_of(title, lang)}"
        for rule in rules_in(package):
            yield from _rule(rule, lang)


def _rule(rule: Rule, lang: str) -> Iterator[str]:
    yield f"#### {rule.code}"
    yield translated(rule.looks, lang)
    yield " · ".join(_facts(rule, lang))
    if rule.example:
        yield label("fires", lang)
        yield _block(rule.example.splitlines(), "python")
        yield label("silent", lang)
        yield _block(rule.near_miss.splitlines(), "python")
    yield _outcomes(rule.outcomes, lang) if rule.outcomes else label("shared_words", lang)


def _facts(rule: Rule, lang: str) -> Iterator[str]:
    yield label("status", lang) + f"{', '.join(Status(one).name for one in rule.statuses)}"
    if rule.numbers:
        yield label("numbers", lang) + ", ".join(f"`{name}` {value:g}" for name, value in rule.numbers.items())
    yield f"[{label('file', lang)}](../../{rule.file})"
    named = [f"[{label('source', lang)}{_short(address)}]({address})" for address in rule.sources]
    if named:
        yield ", ".join(named)
    if rule.basis:
        yield told(rule.basis, lang)


def _beside(stage: Stage, lang: str) -> Iterator[str]:
    found = beside(stage)
    if not found:
        return
    yield f"## {label('beside', lang)}"
    yield label("about_beside", lang)
    for code, outcomes in found.items():
        yield f"#### {code}"
        yield ", ".join(f"[{Path(file).name}](../../{file})" for file in places(code))
        yield _outcomes(outcomes, lang)


def _tables(stage: Stage, lang: str) -> Iterator[str]:
    for title, heads, rows in tables(stage.name):
        yield f"## {_of(title, lang)}"
        yield _table([_of(head, lang) for head in heads], rows)


def _outcomes(outcomes: dict[str, Words], lang: str) -> str:
    rows = [(f"`{name}`" if name else "-", *_said(words, lang)) for name, words in outcomes.items()]
    return _table((label("outcome", lang), label("message", lang), label("step", lang)), rows)


def _said(words: Words, lang: str) -> tuple[str, str]:
    return (words.zh, words.hint_zh) if lang == "zh" else (words.en, words.hint_en)


def _table(heads: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;") if not text.startswith("<") else text


def _block(lines: Iterable[str], language: str) -> str:
    return "\n".join((f"```{language}", *lines, "```"))


def _short(address: str) -> str:
    host, _, path = address.partition("://")[2].partition("/")
    last = path.rstrip("/").rpartition("/")[2]
    return (f"{host} … {last}" if "/" in path.rstrip("/") else f"{host}/{last}".rstrip("/"))[:LONGEST_NAME]


def _of(both: tuple[str, str], lang: str) -> str:
    return both[lang == "zh"]
