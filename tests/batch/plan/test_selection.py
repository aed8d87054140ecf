"""A selection takes what it says and names what it leaves; shards are a whole between them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.batch.plan.model import Item, Plan
from ascend_workbook.batch.plan.selection import Selection, parse_shard, select_items, shard_of
from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from tests.batch.plan.conftest import Read

TEXT = """stages: environment
matrix: {steps: [1, 2, 3], fast: [true, false]}
tags: {slow: ["*steps=3*"], quick: ["*fast=true"]}
"""
NAMES = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=30, unique=True)
TAGS = st.lists(st.sampled_from("abc"), unique=True)


def plan_of(names: list[str], tags: list[list[str]] | None = None) -> Plan:
    each = tags or [[]] * len(names)
    return Plan("p", tuple(Item(name, ("environment",), {}, "en", tags=tuple(of)) for name, of in zip(names, each)))


@pytest.mark.parametrize(
    ("selection", "left", "why"),
    [
        (Selection(tags=["slow"]), {"steps=3-fast=true", "steps=3-fast=false"}, "plan.left.tag"),
        (Selection(skip_tags=["slow", "quick"]), {"steps=1-fast=false", "steps=2-fast=false"}, "plan.left.skip_tag"),
        (
            Selection(only=["steps=1*", "*2-fast=true"]),
            {"steps=1-fast=true", "steps=1-fast=false", "steps=2-fast=true"},
            "plan.left.only",
        ),
        (Selection(tags=["quick"], skip=["steps=3*"]), {"steps=1-fast=true", "steps=2-fast=true"}, "plan.left.skip"),
    ],
)
def test_what_is_taken(read: Read, selection: Selection, left: set[str], why: str) -> None:
    plan = read(TEXT, selection)
    assert {item.name for item in plan.items} == left
    assert len(plan.items) + len(plan.left_out) == 6
    assert why in {one.why["say"] for one in plan.left_out if isinstance(one.why, dict)}


@pytest.mark.parametrize(
    ("selection", "told"),
    [
        (Selection(tags=["sloww"]), "no run of the plan has the tag sloww\nNearest: slow"),
        (Selection(skip_tags=["x"]), "no run of the plan has the tag x"),
        (Selection(only=["steps=4*"]), "no run of the plan matches steps=4"),
        (Selection(skip=["*"]), "none of the 6 runs of the plan is left: matched by --skip"),
    ],
)
def test_what_takes_nothing_is_refused(read: Read, selection: Selection, told: str) -> None:
    with pytest.raises(WorkbookError) as caught:
        read(TEXT, selection)
    assert told in str(caught.value)


@given(names=NAMES, count=st.integers(1, 9))
@settings(max_examples=60)
def test_shards_are_disjoint_and_complete_and_stable(names: list[str], count: int) -> None:
    seen: list[str] = []
    for part in range(1, count + 1):
        try:
            chosen = select_items(plan_of(names), Selection(shard=(part, count)))
        except WorkbookError as error:
            assert error.key == "plan.none_left"
            continue
        assert len(chosen.items) + len(chosen.left_out) == len(names)
        one_less = select_items(plan_of([*names, "\0 one more"]), Selection(shard=(part, count)))
        assert [item for item in one_less.items if item.name in names] == list(chosen.items)
        seen += [item.name for item in chosen.items]
    assert sorted(seen) == sorted(names)


def test_shards_are_about_even() -> None:
    sizes = [sum(shard_of(f"model{number}-npu", 4) == part for number in range(1000)) for part in range(1, 5)]
    assert min(sizes) > 200


@given(names=NAMES, tags=st.lists(TAGS, min_size=30, max_size=30), wanted=TAGS, barred=TAGS)
@settings(max_examples=60)
def test_nothing_is_lost_and_nothing_invented(
    names: list[str], tags: list[list[str]], wanted: list[str], barred: list[str]
) -> None:
    plan = plan_of(names, tags)
    try:
        chosen = select_items(plan, Selection(tags=wanted, skip_tags=barred))
    except WorkbookError as error:
        assert error.key in ("plan.none_left", "plan.no_tag")
        return
    assert sorted([*(item.name for item in chosen.items), *(one.name for one in chosen.left_out)]) == sorted(names)
    for item in plan.items:
        fits = (not wanted or set(wanted) & set(item.tags)) and not set(barred) & set(item.tags)
        assert (item in chosen.items) is bool(fits)


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "1/2/3", "", "-1/2", "１/2"])
def test_a_shard_that_is_none(text: str) -> None:
    with pytest.raises(WorkbookError, match="expected I/N"):
        parse_shard(text)
    assert parse_shard("2/4") == (2, 4)


def test_the_list_starts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.yaml").write_text("stages: profiling\nmatrix: {steps: [1, 2]}\nskip: [{run: '*1', reason: long}]")
    assert main(["run", "plan.yaml", "--list", "--lang", "zh"]) == 0
    said = capsys.readouterr().out
    assert "steps=2" in said and "另有 1 个未选入" in said
    assert [path.name for path in tmp_path.iterdir()] == ["plan.yaml"]
    assert main(["run", "--list"]) == 2
    assert main(["run", "--plan", "plan.yaml", "--lang", "en"]) == 2
    assert "Write `ascend-workbook run plan.yaml`." in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", [["--name", "x"], ["-p", "steps", "3"], ["--stage", "migration"], ["--timeout", "0"]]
)
def test_what_a_plan_says_itself_is_not_given_beside_it(
    option: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("matrix: {steps: [1]}\nstages: profiling")
    assert main(["run", str(path), "--list", "--lang", "en", *option]) == 2
    assert f"{option[0]} cannot be given beside a plan" in capsys.readouterr().err
