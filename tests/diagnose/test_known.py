"""Every known failure is found by its own excerpt, through the whole reader; clean logs are clean; words are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ascend_workbook.diagnose import explain
from ascend_workbook.diagnose.known import CONFIDENCES, SEVERITIES, Known, find_matches, load_known
from ascend_workbook.diagnose.log import Log
from ascend_workbook.diagnose.scan import NEEDLES, scan_log
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import load_catalogue
from tests.conftest import ROOT

LOGS = ROOT / "tests" / "data" / "logs"
CLEAN = sorted((LOGS / "clean").iterdir())


@pytest.mark.parametrize("entry", load_known(), ids=lambda entry: entry.id)
def test_its_own_excerpt_is_recognised(entry: Known) -> None:
    """Also by the substrings that choose the lines, and before any more general entry of its severity."""
    hits = scan_log(Log("x", data=f"step 1 loss 2.3\n{entry.excerpt}\nstep 2\n".encode())).hits
    assert entry in [each for hit in hits for each in hit.known]
    specific = [each for hit in hits for each in hit.known if each.severity == entry.severity]
    assert entry.severity != "error" or specific[0] is entry


@pytest.mark.parametrize("text", ["RuntimeError: NPU out of memory", "torch.OutOfMemoryError: NPU out of memory."])
def test_out_of_memory_is_known_without_its_figures(text: str) -> None:
    assert explain(text).facts["first"]["id"] == "oom"
    assert not find_matches("retry after NPU out of memory, 2 left")


@pytest.mark.parametrize("entry", load_known(), ids=lambda entry: entry.id)
def test_it_says_who_says_so(entry: Known) -> None:
    assert entry.severity in SEVERITIES and entry.confidence in CONFIDENCES and entry.sources
    for source in entry.sources:
        assert source.startswith("https://") or (ROOT / source).is_dir(), source
    assert f"known.{entry.id}" in load_catalogue()
    assert load_catalogue()[f"known.{entry.id}"].hint_en


@pytest.mark.parametrize(
    "entry", [each for each in load_known() if each.stage == "simulator"], ids=lambda each: each.id
)
def test_the_simulator_still_says_so(entry: Known) -> None:
    """Its texts are ours to change: one of the pattern's must stand in the sources, where literals may be split."""
    files = [path for path in (ROOT / "ascend_simulator" / "native").rglob("*") if path.suffix in (".cpp", ".h")]
    text = re.sub(r'"\s*\n\s*"', "", "\n".join(path.read_text(encoding="utf-8") for path in files))
    wordings = [re.sub(r"\\(.)", r"\1", part) for part in entry.pattern.pattern.split("|")]
    assert any(wording in text or wording.split("d+")[0] in text for wording in wordings)


def test_none_has_words_without_an_entry() -> None:
    named = {key.partition(".")[2] for key in load_catalogue() if key.startswith("known.")}
    assert named == {entry.id for entry in load_known()}


def test_there_are_as_many_as_promised() -> None:
    assert len({entry.id for entry in load_known()}) == len(load_known()) >= 78


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: path.name)
def test_clean_logs_are_clean(path: Path) -> None:
    report = explain(path)
    assert report.status is Status.GOOD and report.table is None, report.text("en")


@pytest.mark.parametrize("entry", load_known(), ids=lambda entry: entry.id)
def test_no_pattern_fires_on_a_clean_line(entry: Known) -> None:
    """Each pattern on every clean line, past the substrings that would have kept the line from it."""
    quiet = re.compile(r"\[(INFO|EVENT)\]")
    lines = [line for path in CLEAN for line in path.read_text(encoding="utf-8").splitlines() if not quiet.match(line)]
    assert not [line for line in lines if entry.pattern.search(line)]


def test_the_shared_list_is_covered(shared: Path) -> None:
    """Every failure of the reference list has its entry here under the same name."""
    import json

    listed = json.loads((shared / "facts" / "known_errors.json").read_text(encoding="utf-8"))["errors"]
    assert {each["id"] for each in listed} <= {entry.id for entry in load_known()}
    for each in listed:
        entry = next(entry for entry in load_known() if entry.id == each["id"])
        assert entry.pattern.search(each["excerpt"]), each["id"]


def test_npu_smi_samples_are_clean(shared: Path) -> None:
    """The real outputs of a working npu-smi."""
    samples = [path for path in (shared / "facts" / "npu_smi").glob("*.txt") if b"| OK" in path.read_bytes()]
    assert len(samples) > 9
    for path in samples:
        assert explain(path).status is Status.GOOD, path.name


def test_every_needle_is_needed_or_a_word_of_errors() -> None:
    """A needle without an excerpt or pattern behind it is a cost for nothing."""
    texts = [entry.excerpt.encode() for entry in load_known()] + [
        entry.pattern.pattern.encode() for entry in load_known()
    ]
    generic = {b"Root Cause", b"raceback (most", b"[error]"}
    assert [needle for needle in NEEDLES if needle not in generic and not any(needle in text for text in texts)] == []
