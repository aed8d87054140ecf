"""Each cure: the message it knows, the lines it changes, and the near miss that it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.sentence import say
from ascend_workbook.migration.loop.curing import find_cure, list_cures
from ascend_workbook.migration.loop.failure import Failure, Spot

FOLDER = Path(__file__).parent / "examples"
NAMES = [module.__name__.rpartition(".")[2] for module in list_cures()]


class Example:
    """A case of an example file: the error, perhaps its traceback in one line, the text with the line it was raised
    at, and what the cure makes of it."""

    def __init__(self, text: str) -> None:
        head, _, rest = text.partition("\n")
        self.error, self.trace = head.strip(), ""
        if rest.startswith("# --- trace:"):
            trace, _, rest = rest.partition("\n")
            self.trace = trace.partition(":")[2].replace("\\n", "\n")
        self.before, _, self.after = rest.partition("# --- after\n")
        lines = self.before.splitlines()
        self.line = next((number for number, line in enumerate(lines, 1) if "# raises" in line), 0)

    def make_failure(self, *, neutral: bool = False) -> Failure:
        kind, _, message = self.error.partition(": ")
        contents = {"train.py": self.before.encode()}
        return Failure(kind, message, self.trace, (Spot("train.py", self.line),), contents, neutral=neutral)


def read_examples(name: str, kind: str) -> list[Example]:
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    blocks = text.split("# --- ")
    joined: list[str] = []
    for block in blocks[1:]:
        if block.startswith(("after", "trace")):
            joined[-1] += "# --- " + block
        else:
            joined.append(block)
    return [Example(block.partition(": ")[2]) for block in joined if block.startswith(kind + ": ")]


@pytest.mark.parametrize("name", NAMES)
def test_a_cure_mends_what_it_knows(name: str) -> None:
    examples = read_examples(name, "case")
    assert examples
    for example in examples:
        cure = find_cure(example.make_failure())
        assert cure is not None and cure.name == name, example.error
        assert cure.contents["train.py"].decode() == example.after
        assert cure.source.startswith("https://")
        for lang in ("en", "zh"):
            assert say(cure.reason.key, lang, **cure.reason.args)


@pytest.mark.parametrize("name", NAMES)
def test_a_cure_leaves_what_it_does_not_know(name: str) -> None:
    examples = read_examples(name, "near miss")
    assert examples
    for example in examples:
        assert find_cure(example.make_failure()) is None, example.error


@pytest.mark.parametrize("name", NAMES)
def test_a_mended_file_is_not_mended_again(name: str) -> None:
    for example in read_examples(name, "case"):
        example.before = example.after
        again = find_cure(example.make_failure())
        assert again is None or again.name != name


def test_a_baseline_takes_what_holds_everywhere_alone() -> None:
    everywhere = {module.__name__.rpartition(".")[2] for module in list_cures() if hasattr(module, "HOLDS_EVERYWHERE")}
    for name in NAMES:
        for example in read_examples(name, "case"):
            assert (find_cure(example.make_failure(neutral=True)) is not None) == (name in everywhere)


def test_a_cure_that_is_skipped_is_not_proposed() -> None:
    (example, *_) = read_examples("tf32", "case")
    assert find_cure(example.make_failure(), ("tf32",)) is None
