"""A stage's page as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import Words, say
from tools.docs.bases import describe_basis
from tools.docs.labels import label_text
from tools.docs.rules import Rule, codes_beside, places_of, rules_in
from tools.docs.stages import STAGES, Stage
from tools.docs.tables import make_tables
from tools.docs.verbs import list_commands, signature_of

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "stages"
ENDINGS = {"en": ".md", "zh": ".zh-CN.md"}
#: A source's name on the page is its host and the last of its path.
LONGEST_NAME = 60


def make_pages() -> dict[Path, str]:
    """Return every page's file and text."""
    return {
        FOLDER / f"{stage.name}{ending}": make_page(stage, lang) for stage in STAGES for lang, ending in ENDINGS.items()
    }


def make_page(stage: Stage, lang: str) -> str:
    parts = [
        *_render_head(stage, lang),
        *_render_commands(stage, lang),
        *_render_functions(stage, lang),
        *_render_rules(stage, lang),
        *_render_beside(stage, lang),
        *_render_tables(stage, lang),
    ]
    return "\n\n".join(parts) + "\n"


def _render_head(stage: Stage, lang: str) -> Iterator[str]:
    yield f"# {_in_language(stage.title, lang)}"
    yield label_text("other", lang).format(name=stage.name)
    yield f"{_in_language(stage.about, lang)}{'' if lang == 'zh' else ' '}{label_text('made', lang)}"


def _render_commands(stage: Stage, lang: str) -> Iterator[str]:
    yield f"## {label_text('commands', lang)}"
    yield label_text("common", lang)
    for verb in stage.verbs:
        for command in list_commands(verb, lang):
            yield f"### `{command.name}`"
            yield command.first
            if command.examples:
                yield _render_block(command.examples, "bash")
            rows = [(f"`{written}`", words) for written, words in command.options]
            if rows:
                yield _render_table((label_text("option", lang), label_text("does", lang)), rows)


def _render_functions(stage: Stage, lang: str) -> Iterator[str]:
    yield f"## {label_text('functions', lang)}"
    yield label_text("import", lang)
    for name in stage.functions:
        yield f"### `{name}()`"
        yield _render_block([signature_of(name)], "python")
        yield say(f"help.function.{name}", lang)


def _render_rules(stage: Stage, lang: str) -> Iterator[str]:
    yield f"## {label_text('rules', lang)}"
    yield label_text("about_rules", lang)
    for package, title in stage.rules:
        yield f"### {_in_language(title, lang)}"
        for rule in rules_in(package):
            yield from _render_rule(rule, lang)


def _render_rule(rule: Rule, lang: str) -> Iterator[str]:
    yield f"#### {rule.code}"
    yield say(rule.title, lang)
    yield " · ".join(_render_facts(rule, lang))
    if rule.example:
        yield label_text("fires", lang)
        yield _render_block(rule.example.splitlines(), "python")
        yield label_text("silent", lang)
        yield _render_block(rule.near_miss.splitlines(), "python")
    yield _render_outcomes(rule.outcomes, lang) if rule.outcomes else label_text("shared_words", lang)


def _render_facts(rule: Rule, lang: str) -> Iterator[str]:
    yield label_text("status", lang) + f"{', '.join(Status(status).name for status in rule.statuses)}"
    if rule.numbers:
        yield label_text("numbers", lang) + ", ".join(f"`{name}` {value:g}" for name, value in rule.numbers.items())
    yield f"[{label_text('file', lang)}](../../{rule.file})"
    named = [f"[{label_text('source', lang)}{_shorten_address(address)}]({address})" for address in rule.sources]
    if named:
        yield ", ".join(named)
    if rule.basis:
        yield describe_basis(rule.basis, lang)


def _render_beside(stage: Stage, lang: str) -> Iterator[str]:
    codes = codes_beside(stage)
    if not codes:
        return
    yield f"## {label_text('beside', lang)}"
    yield label_text("about_beside", lang)
    for code, outcomes in codes.items():
        yield f"#### {code}"
        yield ", ".join(f"[{Path(file).name}](../../{file})" for file in places_of(code))
        yield _render_outcomes(outcomes, lang)


def _render_tables(stage: Stage, lang: str) -> Iterator[str]:
    for title, heads, rows in make_tables(stage.name):
        yield f"## {_in_language(title, lang)}"
        yield _render_table([_in_language(head, lang) for head in heads], rows)


def _render_outcomes(outcomes: dict[str, Words], lang: str) -> str:
    rows = [(f"`{name}`" if name else "-", *_words_in(words, lang)) for name, words in outcomes.items()]
    return _render_table((label_text("outcome", lang), label_text("message", lang), label_text("step", lang)), rows)


def _words_in(words: Words, lang: str) -> tuple[str, str]:
    return (words.zh, words.hint_zh) if lang == "zh" else (words.en, words.hint_en)


def _render_table(heads: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_escape_cell(cell) for cell in line) + " |" for line in lines)


def _escape_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("<", "&lt;") if not text.startswith("<") else text


def _render_block(lines: Iterable[str], language: str) -> str:
    return "\n".join((f"```{language}", *lines, "```"))


def _shorten_address(address: str) -> str:
    host, _, path = address.partition("://")[2].partition("/")
    last = path.rstrip("/").rpartition("/")[2]
    return (f"{host} … {last}" if "/" in path.rstrip("/") else f"{host}/{last}".rstrip("/"))[:LONGEST_NAME]


def _in_language(both: tuple[str, str], lang: str) -> str:
    return both[lang == "zh"]
