"""The order in which contradictions of ranks are told."""

from __future__ import annotations

from ascend_workbook.precision.ranks.telling import RULE_OF, STAGES, weigh_stage


def test_a_cause_stands_before_what_follows_from_it() -> None:
    order = [
        (-1, "result"),
        (0, "samples"),
        (0, "copies_weight"),
        (0, "order"),
        (0, "partial"),
        (0, "copy"),
        (0, "copies_gradient"),
        (0, "copies_update"),
        (1, "copies_weight"),
        (1, "copy"),
        (7, "copies_weight"),
        (40, "absent"),
        (41, "absent"),
    ]
    weights = [weigh_stage(step, stage) for step, stage in order[1:]]
    assert weights == sorted(weights, reverse=True)
    assert len(set(weights)) == len(weights)
    assert weigh_stage(0, "result", 0) > weigh_stage(0, "result", 1) > weigh_stage(0, "partial")


def test_every_fault_has_its_stage() -> None:
    assert set(RULE_OF) <= set(STAGES)
    assert weigh_stage(0, "copies_weight") > 600 > weigh_stage(0, "order")
