"""The planted faults are whole: 25, each with its twin and its label, in two halves by the seeded draw."""

from __future__ import annotations

import ast
import hashlib
import json
import random
from pathlib import Path

import pytest

from ascend_workbook.profiling.causes import KINDS, Cause
from ascend_workbook.profiling.collecting import profile
from tests.profiling.planted.judge import LABELS, find_profile_causes, is_named, read_saving
from tests.profiling.planted.measure import HERE, MEASURED, find_scripts, list_faults

#: Of the draw, and how many are worked on
SEED, WORKING = 20261127, 12
NAMES = list_faults()
#: The sets of a third to a sixth hand, with the seeds of their draws, and how many are worked on
OTHERS, OTHERS_WORKING = {"third": 20261201, "fourth": 20261301, "fifth": 20261401, "sixth": 20261501}, 13
#: SHA-256 of the labels of a held half, noted before the half was there
HELD_LABELS = {
    "fifth": "737d7517e30aeae4d194337638bbfcb2686db797b188ce84018ec12d6618ccd0",
    "sixth": "a64f0c6b21bf55b48f656b05fb3793e28f17d247c3e509effedb96b59b93ad12",
}
HALVES = sorted(str(path.parent.relative_to(HERE)) for hand in OTHERS for path in (HERE / hand).glob("*/labels.json"))


def read_labels() -> dict[str, dict[str, object]]:
    labels: dict[str, dict[str, object]] = json.loads(LABELS.read_text())
    return labels


def test_each_has_a_twin_a_label_and_its_half() -> None:
    assert len(NAMES) == 25
    assert [script.stem for script in sorted((HERE / "twins").glob("*.py"))] == NAMES == sorted(read_labels())
    drawn = list(NAMES)
    random.Random(SEED).shuffle(drawn)
    assert {name for name, label in read_labels().items() if label["half"] == "working"} == set(drawn[:WORKING])


@pytest.mark.parametrize("name", NAMES)
def test_a_label_says_what_and_where(name: str) -> None:
    label = read_labels()[name]
    fault, twin = ((HERE / folder / f"{name}.py").read_text() for folder in ("faults", "twins"))
    ast.parse(twin)
    assert fault != twin and set(label["first"]) <= set(KINDS)  # type: ignore[call-overload]
    for place in label["where"]:  # type: ignore[attr-defined]
        file, _, line = place.partition(":")
        assert file == f"{name}.py" and fault.splitlines()[int(line) - 1].strip(), place


@pytest.mark.parametrize("half", HALVES)
def test_another_hands_half_is_whole(half: str) -> None:
    labels = json.loads((HERE / half / LABELS.name).read_text())
    faults, twins = find_scripts(HERE / half)
    assert list(faults) == sorted(labels) and len(labels) == OTHERS_WORKING
    for name, label in labels.items():
        fault = faults[name].read_text()
        ast.parse(twins[name].read_text())
        assert fault != twins[name].read_text() and set(label["first"]) <= set(KINDS)
        places = [place.partition(":") for place in label["where"]]
        assert {file for file, _, _ in places} == {f"{name}.py"}
        assert all(fault.splitlines()[int(line) - 1].strip() for _, _, line in places)


@pytest.mark.parametrize("hand", [hand for hand in OTHERS if f"{hand}/held" in HALVES])
def test_another_hands_halves_are_those_of_its_draw(hand: str) -> None:
    halves = {half: json.loads((HERE / hand / half / LABELS.name).read_text()) for half in ("working", "held")}
    drawn = sorted(name for labels in halves.values() for name in labels)
    random.Random(OTHERS[hand]).shuffle(drawn)
    assert (len(drawn), set(halves["working"])) == (26, set(drawn[:OTHERS_WORKING]))


@pytest.mark.parametrize("hand", HELD_LABELS)
def test_labels_of_a_held_half_are_those_noted_before(hand: str) -> None:
    labels = HERE / hand / "held" / LABELS.name
    if not labels.is_file():
        pytest.skip("the held half is not there yet")
    assert hashlib.sha256(labels.read_bytes()).hexdigest() == HELD_LABELS[hand]


def test_a_place_is_compared_by_file_and_line() -> None:
    from ascend_workbook.findings.sentence import Sentence

    label = {"first": ["garbage"], "where": ["gc_collect.py:32"]}
    for where, right in (("faults/gc_collect.py:32 main", True), ("/a/gc_collect.py:3 main", False), ("", False)):
        cause = Cause("garbage", 1.0, 0.5, where, Sentence("PRF316.none"))
        assert is_named(cause, label) == (True, right)


@pytest.mark.skipif(not MEASURED.is_file(), reason="nothing was measured")
def test_what_was_measured_is_of_these() -> None:
    measured = json.loads(MEASURED.read_text())
    assert set(measured) <= set(NAMES)
    assert all(row["least_ms"] <= row["saving_ms"] <= row["most_ms"] for row in measured.values())


@pytest.mark.full
def test_a_fault_is_named_at_its_line_and_its_twin_is_not(simulator_env: dict[str, str], tmp_path: Path) -> None:
    label = read_labels()["gc_collect"]
    for folder in ("faults", "twins"):
        out = tmp_path / folder
        profile(HERE / folder / "gc_collect.py", device="npu-simulated", out=out, timeout_s=300)
        causes, _ = find_profile_causes(out / "data")
        named = any(all(is_named(cause, label)) for cause in causes[:2])  # type: ignore[arg-type]
        assert named == (folder == "faults")


def test_a_label_may_have_one_line_and_its_start_is_none() -> None:
    from ascend_workbook.findings.sentence import Sentence

    cause = Cause("garbage", 1.0, 0.5, "a/b.py:2 f", Sentence("PRF316.none"))
    assert is_named(cause, {"first": ["garbage"], "where": "b.py:27"}) == (True, False)
    assert is_named(cause, {"first": ["python"], "where": "b.py:2"}) == (False, True)


def test_a_saving_is_the_measured_one_else_the_authors_unless_it_is_noise() -> None:
    assert read_saving({"saving_ms": 2.0, "fault_ms": 8.0}, {"saved_share_cpu": 0.5}) == 0.25
    assert read_saving(None, {"saved_share_cpu": 0.5}) == 0.5
    assert read_saving(None, {"saved_share_cpu": 0.5}, (8.0, 2.0)) == 0.75, "by the recordings of the two"
    assert read_saving({"saving_ms": 2.0, "fault_ms": 8.0}, {}, (8.0, 1.0)) == 0.25
    assert read_saving(None, {"saved_share_cpu": 0.01}) is None and read_saving(None, {}) is None


def test_scripts_are_found_in_folders_and_beside_each_other(tmp_path: Path) -> None:
    for name in ("a.py", "a_healthy.py", "helper.py"):
        (tmp_path / name).touch()
    assert find_scripts(tmp_path) == ({"a": tmp_path / "a.py"}, {"a": tmp_path / "a_healthy.py"})
    assert list(find_scripts(HERE)[0]) == NAMES
