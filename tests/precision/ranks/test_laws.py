"""What ranks say of one another: a collective's outputs against all inputs, order, dtype, who is absent."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_workbook.precision.child import sketch
from ascend_workbook.precision.ranks.laws import check_ranks, find_one_sided
from ascend_workbook.precision.ranks.reading import read_records
from ascend_workbook.precision.state.reading import States
from tests.precision.ranks.records import call, write_ranks
from tests.precision.ranks.states import pack, record

A, B = np.linspace(-1, 1, 50), np.linspace(3, 0, 50)
Calls = list[list[dict[str, Any]]]


def faults_of(folder: Path, calls: Calls) -> list[tuple[int, tuple[int, ...], str, str]]:
    found = check_ranks(write_ranks(folder, calls), States({}))
    return [(fault.step, fault.ranks, fault.kind, fault.detail) for fault in found]


HEALTHY: list[Calls] = [
    [[call("all_reduce", [own], [A + B], reduce="sum")] for own in (A, B)],
    [[call("all_reduce", [own], [(A + B) / 2], reduce="avg")] for own in (A, B)],
    [[call("all_reduce", [own], [np.maximum(A, B)], reduce="max")] for own in (A, B)],
    [[call("broadcast", [own], [A], peer=0)] for own in (A, B)],
    [[call("all_gather", [own], [A, B])] for own in (A, B)],
    [[call("reduce_scatter", [A, B], [2 * own], reduce="sum")] for own in (A, B)],
    [[call("all_to_all", [A, B], [own, own])] for own in (A, B)],
    [[call("send", [A], None, peer=1)], [call("recv", [], [A], peer=0)]],
]
WRONG: list[tuple[Calls, tuple[int, tuple[int, ...], str, str]]] = [
    ([[call("all_reduce", [own], [out], reduce="sum")] for own, out in ((A, A + B), (B, B))], (0, (1,), "result", "")),
    ([[call("all_reduce", [own], [A], reduce="max")] for own in (A, B)], (0, (0,), "result", "")),
    ([[call("broadcast", [own], [own], peer=0)] for own in (A, B)], (0, (1,), "result", "")),
    ([[call("all_gather", [own], [B, A])] for own in (A, B)], (0, (0,), "result", "")),
    ([[call("all_to_all", [A, B], [A, B])] for _ in (A, B)], (0, (0,), "result", "")),
    ([[call("send", [A], None, peer=1)], [call("recv", [], [B], peer=0)]], (0, (1,), "result", "")),
    (
        [[call("all_reduce", [own], [A + B], reduce="sum", dtype=d)] for own, d in ((A, "float32"), (B, "bfloat16"))],
        (0, (0, 1), "order", "kind"),
    ),
    (
        [[call("all_reduce", [A], [A + B], reduce="sum", names=(n,))] for n in ("a.grad", "b.grad")],
        (0, (0, 1), "order", "names"),
    ),
    (
        [[call("all_reduce", [A], [A], reduce="sum")], [call("broadcast", [A], [A], peer=0)]],
        (0, (0, 1), "order", "operation"),
    ),
    ([[call("all_reduce", [A], [A], step=2, reduce="sum")], []], (2, (1,), "absent", "")),
]


@pytest.mark.parametrize("calls", HEALTHY)
def test_what_follows_from_all_inputs_is_right(tmp_path: Path, calls: Calls) -> None:
    assert faults_of(tmp_path, calls) == []


@pytest.mark.parametrize(("calls", "fault"), WRONG)
def test_what_does_not_is_told_with_step_and_rank(
    tmp_path: Path, calls: Calls, fault: tuple[int, tuple[int, ...], str, str]
) -> None:
    assert faults_of(tmp_path, calls) == [fault]


def test_rounding_of_the_dtype_is_no_fault(tmp_path: Path) -> None:
    def reduced(dtype: str) -> Calls:
        return [[call("all_reduce", [own], [(A + B) * 1.003], reduce="sum", dtype=dtype)] for own in (A, B)]

    assert faults_of(tmp_path, reduced("bfloat16")) == []
    assert faults_of(tmp_path, reduced("float32")) == [(0, (0,), "result", "")]


def test_a_broken_record_is_named(tmp_path: Path) -> None:
    from ascend_workbook.findings.errors import WorkbookError

    (tmp_path / "ranks.rank0.json").write_text('{"schema": "other"}', encoding="utf-8")
    with pytest.raises(WorkbookError, match=r"ranks\.rank0\.json"):
        write_ranks(tmp_path, [])


def test_a_call_of_one_side_alone_is_named(tmp_path: Path) -> None:
    def run(name: str, *names: str, step: int = 0) -> Any:
        (tmp_path / name).mkdir()
        calls = [call("all_reduce", [A], [A + B], step=step, reduce="sum", names=(own,)) for own in names]
        return write_ranks(tmp_path / name, [calls, calls])

    both, one = run("both", "a.grad", "b.grad"), run("one", "a.grad")
    fault = find_one_sided(both, one)
    assert fault is not None
    assert (fault.step, fault.kind, fault.names, fault.args["number"]) == (0, "one_side", ("b.grad",), 1)
    assert find_one_sided(one, both) is None
    assert find_one_sided(both, both) is None
    assert find_one_sided(run("later", "a.grad", step=5), one) is None


@pytest.mark.parametrize(
    ("after", "details"),
    [
        ((0.5 * (A + B), 0.5 * (A + B)), []),
        ((A + B, A + B), ["other"]),
        ((A, B), []),
        ((A, A), ["other"]),
    ],
)
def test_a_gradient_is_the_mean_of_the_ranks_own(tmp_path: Path, after: Any, details: list[str]) -> None:
    def keep(values: Any) -> Any:
        return base64.b64encode(sketch.sketch(values).astype("<f4").tobytes()).decode("ascii")

    wrapped = [{"kind": "ddp", "ranks": [0, 1]}]
    write_ranks(tmp_path, [[], []], wrapped=wrapped)
    for rank, own in enumerate((A, B)):
        path = tmp_path / f"ranks.rank{rank}.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        content["local"] = [{"step": 0, "gradients": {"w": ["float32", 1, True, keep(own)]}}]
        path.write_text(json.dumps(content), encoding="utf-8")
    states = record([{"w": pack(value)} for value in after])
    faults = [fault for fault in check_ranks(read_records(tmp_path), states) if fault.kind == "reduced"]
    assert [fault.detail for fault in faults] == details
