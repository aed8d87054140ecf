"""Twenty printed facts of the references, changed one at a time: nbval's own comparison fails each of them.

The comparison is nbval's (IPyNbCell.compare_outputs) with the sanitise file of this project; the untouched outputs
stand for a fresh run, so twenty mutations cost seconds. `make test` runs the real notebooks against the same
references, and `make test-full` mutates before a real run.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from nbval.plugin import IPyNbCell, nocolors

from tests.conftest import ROOT
from tests.notebooks import guards

REFERENCES = sorted((ROOT / "tests" / "reference").glob("*.ipynb"))
RULES = guards.sanitisers(ROOT / "tests" / "sanitize.cfg")
FACT = re.compile(
    r"\d+\.\d+(?:e[-+]?\d+)?|\b(?:OK|WARN|FAIL|NOTE|SKIPPED)\b|\b\d+\b|\b[A-Z]\w+\.\w+\.\d+\b|npu-simulated"
)
PER_NOTEBOOK = 5


def facts_of(path: Path) -> list[tuple[int, int, int, int]]:
    """(cell, output, start, end) of printed facts that stay after sanitising, spread over the notebook."""
    found = []
    for at, cell in enumerate(nbformat.read(path, 4).cells):
        if cell.cell_type != "code" or "nbval-ignore-output" in cell.metadata.get("tags", []):
            continue
        for number, output in enumerate(cell.outputs):
            text = text_of(output)
            for match in FACT.finditer(text):
                changed = text[: match.start()] + changed_fact(match.group()) + text[match.end() :]
                if guards.sanitise(changed, RULES) != guards.sanitise(text, RULES):
                    found.append((at, number, match.start(), match.end()))
    stride = max(1, len(found) // PER_NOTEBOOK)
    return found[::stride][:PER_NOTEBOOK]


def text_of(output: Any) -> str:
    return str(output.get("text") or output.get("data", {}).get("text/plain", ""))


def changed_fact(fact: str) -> str:
    """The smallest change a reader could miss: the last digit, or another status."""
    if fact[-1].isdigit():
        return fact[:-1] + str((int(fact[-1]) + 1) % 10)
    return {"OK": "FAIL", "FAIL": "OK"}.get(fact, "OK")


def mutate(output: Any, start: int, end: int) -> None:
    text = text_of(output)
    text = text[:start] + changed_fact(text[start:end]) + text[end:]
    if "text" in output:
        output["text"] = text
    else:
        output["data"]["text/plain"] = text


def same(outputs: list[Any], reference: list[Any]) -> bool:
    """nbval's own comparison and sanitising, freed of its pytest machinery (a pytest Item cannot be made by hand)."""
    cell = object.__new__(IPyNbCell)
    cell.colors = nocolors
    cell.format_output_compare = lambda key, left, right: None  # only words a failure; it needs a pytest session
    patterns = {pattern.pattern: replacement for pattern, replacement in RULES}
    cell.parent = SimpleNamespace(sanitize_patterns=patterns)
    skipped = ("metadata", "output_type", "name", "execution_count", *guards.PICTURES)
    return bool(cell.compare_outputs(outputs, reference, skip_compare=skipped))


CASES = [(path, fact) for path in REFERENCES for fact in facts_of(path)]


def test_there_are_twenty() -> None:
    assert len(CASES) == 4 * PER_NOTEBOOK


@pytest.mark.parametrize(
    ("path", "fact"), CASES, ids=lambda value: value.stem if isinstance(value, Path) else str(value)
)
def test_a_changed_fact_is_caught(path: Path, fact: tuple[int, int, int, int]) -> None:
    at, number, start, end = fact
    cell = nbformat.read(path, 4).cells[at]
    assert same(cell.outputs, cell.outputs)
    mutated = copy.deepcopy(cell.outputs)
    mutate(mutated[number], start, end)
    assert not same(cell.outputs, mutated), f"{text_of(mutated[number])[start - 40 : end + 40]!r} went unnoticed"
