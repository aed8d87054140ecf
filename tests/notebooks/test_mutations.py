"""Twenty printed facts of the references, changed one at a time: nbval's own comparison fails each of them.

The comparison is nbval's (IPyNbCell.compare_outputs) with the sanitise file of this project; the untouched outputs
stand for a fresh run, so twenty mutations cost seconds. `make test` runs the real notebooks against the same
references; `make test-full` also mutates the references and runs nbval for real.
"""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from nbval.plugin import IPyNbCell, nocolors

from tests.conftest import ROOT
from tests.notebooks import guards
from tests.run import NBVAL

REFERENCES = sorted((ROOT / "tests" / "reference").rglob("*.ipynb"))
RULES = guards.sanitisers(ROOT / "tests" / "sanitize.cfg")
#: Numbers, states, operators and tiers; only a number with a unit of time, size or rate may go unnoticed. What is a
#: fact is decided here, without a look at sanitize.cfg: a rule there that takes too much fails these tests.
UNIT = r"(?![\w.]|\s?(?:ns|us|ms|s|min|[KMGT]i?B(?:/s)?|GFLOP/s)\b)"
NUMBER = r"(?<![\w.:/-])\d+(?:\.\d+)?(?:e[-+]?\d+)?" + UNIT
FACT = re.compile(NUMBER + r"|\b(?:Good|Look|Fix|Not looked)\b|\b[A-Z]\w+\.\w+\.\d+\b|npu-simulated")
PER_NOTEBOOK = 5


def facts_of(path: Path) -> list[tuple[int, int, int, int]]:
    """(cell, output, start, end) of printed facts, spread over the notebook's compared cells, a cell each first."""
    by_cell: dict[int, list[tuple[int, int, int, int]]] = {}
    for at, cell in enumerate(nbformat.read(path, 4).cells):
        if cell.cell_type != "code" or "nbval-ignore-output" in cell.metadata.get("tags", []):
            continue
        for number, output in enumerate(cell.outputs):
            matches = FACT.finditer(text_of(output))
            by_cell.setdefault(at, []).extend((at, number, match.start(), match.end()) for match in matches)
    turns = zip_longest(*(found[len(found) // 2 :] + found[: len(found) // 2] for found in by_cell.values() if found))
    return [fact for turn in turns for fact in turn if fact][:PER_NOTEBOOK]


def name(value: Any) -> str:
    return f"{value.parent.name}-{value.stem}" if isinstance(value, Path) else str(value)


def text_of(output: Any) -> str:
    """What nbval compares of an output: what was printed, else facts and HTML, less its style and pictures."""
    data = output.get("data", {})
    facts = json.dumps(data[guards.FACTS], ensure_ascii=False) if guards.FACTS in data else ""
    html = data.get("text/html", "").rpartition("</style>")[2]
    return str(output.get("text") or facts + ("" if "<svg" in html else html) or data.get("text/plain", ""))


def changed_fact(fact: str) -> str:
    """The smallest change a reader could miss: the last digit, or another status."""
    if fact[-1].isdigit():
        return fact[:-1] + str((int(fact[-1]) + 1) % 10)
    return {"Good": "Fix", "Fix": "Good"}.get(fact, "Good")


def mutate(output: Any, start: int, end: int) -> None:
    text, data = text_of(output), output.get("data", {})
    changed = text[:start] + changed_fact(text[start:end]) + text[end:]
    facts = len(json.dumps(data[guards.FACTS], ensure_ascii=False)) if guards.FACTS in data else 0
    if "text" in output:
        output["text"] = changed
    elif start < facts:
        data[guards.FACTS] = json.loads(changed[:facts])
    elif "text/html" in data:
        data["text/html"] = data["text/html"].removesuffix(text[facts:]) + changed[facts:]
    else:
        data["text/plain"] = changed


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


def test_there_are_five_of_each_notebook() -> None:
    assert len(CASES) == len(REFERENCES) * PER_NOTEBOOK >= 25


@pytest.mark.parametrize(("path", "fact"), CASES, ids=name)
def test_a_changed_fact_is_caught(path: Path, fact: tuple[int, int, int, int]) -> None:
    at, number, start, end = fact
    cell = nbformat.read(path, 4).cells[at]
    assert same(cell.outputs, cell.outputs)
    mutated = copy.deepcopy(cell.outputs)
    mutate(mutated[number], start, end)
    assert not same(cell.outputs, mutated), f"{text_of(mutated[number])[start - 40 : end + 40]!r} went unnoticed"


@pytest.mark.full
@pytest.mark.parametrize("path", REFERENCES, ids=name)
def test_a_real_run_catches_changed_facts(path: Path, tmp_path: Path) -> None:
    """nbval runs the notebook against a reference with one changed fact in each of several cells: just these fail."""
    notebook = nbformat.read(path, 4)
    facts = {at: (at, number, start, end) for at, number, start, end in facts_of(path)}
    for at, number, start, end in facts.values():
        mutate(notebook.cells[at].outputs[number], start, end)
    nbformat.write(notebook, tmp_path / path.name)
    junit = tmp_path / "junit.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        *NBVAL,
        f"--rootdir={ROOT}",
        f"--junitxml={junit}",
        str(tmp_path / path.name),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert junit.is_file(), done.stderr
    cases = list(xml.parse(junit).getroot().iter("testcase"))
    code = [at for at, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    failed = {at for at, case in zip(code, cases) if case.find("failure") is not None}
    assert len(cases) == len(code) and failed == set(facts), done.stdout[-4000:]
