"""What is to be fixed first: the order of causes, one card a cause, and what is told where nothing is wrong."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_workbook.findings.finding import Finding, Place, Status
from ascend_workbook.findings.report import Column, Listing, Report, Table
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.page.first import (
    ORDER,
    SHOWN_LINES,
    TABS,
    WORTH,
    Card,
    choose_first,
    make_reference_card,
    order_cards,
    shorten_operator,
)


def environment(status: Status) -> Report:
    checks = Report("environment", "machine_check", (Finding("ENV001", status, "ENV001.absent", ABSENT, weight=50),))
    return Report("environment", "environment_check", checks.findings, parts=(checks,))


ABSENT = {"wanted": "npu", "why": Sentence("device.why.no_cann"), "found": "cpu", "tier": "cpu", "others": ""}


def place_of(kind: str, line: int, **args: object) -> Finding:
    facts = {"class": kind, "code": "x.cuda()", "name": "torch.cuda.x", **args}
    return Finding("MIG119", Status.LOOK, "MIG119.no_effect", facts, Place("train.py", line))


def migration(*places: Finding, stops: bool = False, status: Status = Status.GOOD) -> Report:
    failed = Finding("MIG140", Status.FIX, "MIG142.not_shown", {}, Place("train.py", 42), weight=900)
    ran = Report("migration", "dry_run", (failed,) if stops else ())
    whole = Finding("MIG150", Status.FIX if stops else status, "MIG142.not_shown", {})
    return Report("migration", "migration", (whole,), parts=(Report("migration", "scan", places), ran))


def precision(first: str | None) -> Report:
    finding = Finding(
        "ACC230", Status.FIX if first else Status.GOOD, "ACC291.nothing" if not first else "MIG142.not_shown"
    )
    columns = tuple(map(Column, ("operator", "place")))
    table = Table(columns, (("a", "model.py:3"), ("b", "model.py:7")))
    compared = Report("precision", "divergence", (finding,), table, facts={"first_divergence": first, "row": 1})
    return Report("precision", "align", (finding,), parts=(compared,))


def profiling(share: float, gain: float) -> Report:
    columns = tuple(map(Column, ("tuning_change", "tuning_bound", "share", "tuning_seen", "tuning_do")))
    row = (Sentence("PRF394.topic"), gain, share, "seen", "do")
    tuning = Report(
        "profiling", "tuning", (Finding("PRF310", Status.NOTE, "MIG142.not_shown"),), Table(columns, (row,))
    )
    return Report("profiling", "profiling", tuning.findings, parts=(tuning,))


def test_the_order_is_that_of_the_work() -> None:
    """Each later cause comes first only when all earlier ones are gone."""
    causes = {
        "environment": (environment(Status.FIX), environment(Status.GOOD)),
        "migration": (migration(place_of("unsupported", 3, stops=True), stops=True), migration()),
        "precision": (precision("Functional.conv2d.2.forward"), precision(None)),
        "profiling": (profiling(40.0, 9.0), profiling(WORTH / 2, 0.1)),
    }
    expected = {"environment": "environment", "migration": "stops", "precision": "parts", "profiling": "saving"}
    for wrong in itertools.product([True, False], repeat=len(causes)):
        stages = {name: pair[0 if bad else 1] for bad, (name, pair) in zip(wrong, causes.items())}
        first = next((expected[name] for bad, name in zip(wrong, causes) if bad), "hardware")
        assert choose_first(stages).kind == first, wrong


def test_a_script_that_stops_comes_before_places_without_a_way() -> None:
    cards = order_cards(
        {"migration": migration(place_of("manual", 9), place_of("unsupported", 3, stops=True), stops=True)}
    )
    assert [card.kind for card in cards] == ["stops", "unsupported", "by_hand"]
    assert cards[0].place == "train.py:42" and cards[1].place == "train.py:3"


def test_of_many_places_of_a_kind_one_card_names_the_one_that_stops_and_counts_the_rest() -> None:
    places = [place_of("unsupported", line, stops=line == 7) for line in (3, 5, 7)]
    card = order_cards({"migration": migration(*places, status=Status.FIX)})[0]
    assert card.kind == "unsupported" and card.place == "train.py:7" and card.status is Status.FIX
    assert card.detail == Sentence("page.first.more_places", count=2)


def test_places_that_nothing_runs_into_are_looked_at_and_are_no_fix() -> None:
    card = order_cards({"migration": migration(place_of("unsupported", 3))})[0]
    assert card.kind == "unsupported" and card.status is Status.LOOK


def test_the_operator_that_parts_the_runs_is_told_with_its_line() -> None:
    card = choose_first({"precision": precision("Functional.conv2d.2.forward")})
    assert card.place == "model.py:7" and card.describe()["cause"][0] == "The runs part at conv2d.2 forward"


@pytest.mark.parametrize(("share", "kind"), [(WORTH, "saving"), (WORTH - 0.01, "hardware")])
def test_a_saving_is_told_first_from_a_share_on(share: float, kind: str) -> None:
    assert choose_first({"profiling": profiling(share, 1.0)}).kind == kind


def test_what_ran_on_the_simulator_is_to_be_repeated_and_what_did_not_is_done() -> None:
    good = precision(None)
    assert choose_first({"precision": good}).cause == Sentence("page.first.good")
    assert choose_first({"precision": replace(good, tier="npu-simulated")}).cause == Sentence("page.first.hardware")


def test_what_did_not_run_yet_comes_before_hardware_and_behind_what_is_to_be_fixed() -> None:
    good = replace(precision(None), tier="npu-simulated")
    card = choose_first({"precision": good}, waiting=["profiling"])
    assert card.status is Status.NOT_LOOKED and card.stage == "profiling"
    assert choose_first({"precision": precision("Functional.a.0.forward")}, waiting=["profiling"]).kind == "parts"


@pytest.mark.parametrize("tier", ["npu", "npu-simulated"])
def test_a_stage_that_could_not_look_is_never_done(tier: str) -> None:
    unseen = Report("precision", "align", (Finding("ACC230", Status.NOT_LOOKED, "report.not_looked"),), tier=tier)
    card = choose_first({"precision": unseen})
    assert card.status is Status.NOT_LOOKED and card.cause == Sentence("report.not_looked")
    times = Report("profiling", "profiling", unseen.findings, tier="npu-simulated")
    assert choose_first({"profiling": times}).kind == "hardware", "no simulated time can be looked at"


def test_nothing_that_ran_is_never_good() -> None:
    assert choose_first({}).status is Status.NOT_LOOKED


def test_one_cause_of_two_stages_is_one_card() -> None:
    cause = Sentence("page.first.nothing_ran")
    failed = {stage: Card("stops", Status.FIX, stage, cause) for stage in ("precision", "profiling")}
    assert [card.stage for card in order_cards({}, failed)] == ["precision"]


def test_a_stage_that_is_fix_has_a_card_whatever_its_reports_say() -> None:
    report = Report("profiling", "profiling", (Finding("PRF300", Status.FIX, "MIG142.not_shown"),))
    assert [card.kind for card in order_cards({"profiling": report})] == ["stage"]


@given(
    st.lists(
        st.tuples(st.sampled_from(ORDER), st.sampled_from([*Status]), st.sampled_from(["", *TABS]), st.floats(0, 9))
    )
)
def test_no_card_that_is_not_fix_stands_before_one_that_is(rows: list[tuple[str, Status, str, float]]) -> None:
    failed = {
        str(number): Card(kind, status, stage, str(number), weight=weight)
        for number, (kind, status, stage, weight) in enumerate(rows)
    }
    statuses = [card.status is Status.FIX for card in order_cards({}, failed)]
    assert statuses == sorted(statuses, reverse=True) and len(statuses) == max(1, len(rows))


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Functional.conv2d.2.forward", "conv2d.2 forward"),
        ("Tensor.add_.0.backward", "add_.0 backward"),
        ("aten::mm", "aten::mm"),
        ("layer1.0.conv1", "layer1.0.conv1"),
        ("Functional", "Functional"),
    ],
)
def test_a_call_is_named_shortly(name: str, short: str) -> None:
    assert shorten_operator(name) == short


@pytest.mark.parametrize("stage", ["migration", "precision", "profiling"])
def test_a_stage_to_look_at_is_never_told_as_done(stage: str) -> None:
    found = Finding("PRF300", Status.LOOK, "MIG142.not_shown", weight=3)
    part = Report(stage, "part", (found,), tier="npu")
    whole = Report(stage, stage, (Finding("PRF301", Status.GOOD, "ACC291.nothing"), found), parts=(part,), tier="npu")
    assert whole.status is Status.LOOK
    card = choose_first({stage: whole})
    assert (card.status, card.cause) == (Status.LOOK, Sentence("MIG142.not_shown"))


def test_a_script_that_stops_in_two_parts_at_one_line_is_one_card() -> None:
    failed = Finding("MIG174", Status.FIX, "MIG142.not_shown", {}, Place("train.py", 42))
    stopped = migration(stops=True)
    traced = Report("migration", "operator_support", (replace(failed, key="MIG141.none"),))
    cards = order_cards({"migration": replace(stopped, parts=(*stopped.parts, traced))})
    assert [card.kind for card in cards] == ["stops"]


def reference(*keys: str) -> Report:
    """A comparison with a reference; of each stage the outcome."""
    findings = tuple(
        Finding(
            "RUN430",
            Status.GOOD if key == "same" else Status.FIX,
            f"RUN430.{key}",
            {"stage": Sentence(f"page.tab.{tab}"), "cells": [3], "compared": 2, "outputs": 4, "path": "x.ipynb"},
            Place(f"{stage}/notebook.ipynb"),
        )
        for (stage, tab), key in zip(TABS.items(), keys)
    )
    listing = Listing("reference_diff", "\n".join(f"-{number}" for number in range(40)), "diff")
    return Report("batch", "reference", findings, listing=listing, command=("ascend-workbook", "run", "plan.yaml"))


def test_a_run_that_is_not_as_its_reference_is_one_card_with_the_difference_and_the_command() -> None:
    card = make_reference_card(reference("same", "differs", "absent"))
    assert card is not None and (card.kind, card.status) == ("reference", Status.FIX)
    assert card.place == "migration/notebook.ipynb" and card.command[-1] == "plan.yaml"
    assert card.detail == Sentence("page.first.more_stages", stages=[Sentence("page.tab.prec")])
    told = card.describe()
    assert told["tab"] == "run" and "code cells 3 differ" in told["cause"][0] and "--bless" in told["remedy"][0]
    assert told["difference"].splitlines() == [f"-{number}" for number in range(SHOWN_LINES)]
    assert make_reference_card(reference("same", "same")) is None


def test_what_ends_a_stage_is_mended_before_the_reference_is_looked_at() -> None:
    card = make_reference_card(reference("differs"))
    assert card is not None
    stopped = {
        "migration": migration(place_of("manual", 1), stops=True),
        "precision": precision("Functional.a.0.forward"),
    }
    kinds = [each.kind for each in order_cards(stopped, {"reference": card}) if each.status is Status.FIX]
    assert kinds == ["stops", "parts", "reference"]
    good = {"precision": replace(precision(None), tier="npu-simulated")}
    assert [each.kind for each in order_cards(good, {"reference": card})] == ["reference"], (
        "it is not to be repeated yet"
    )
