"""Each rule fires on its case, stays quiet on the near miss, and says so when it can't look."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.findings.sentence import LANGUAGES
from ascend_workbook.profiling import rules
from ascend_workbook.profiling.exposed import KINDS, Exposed
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.trace import Event, build_trace

Make = Callable[..., Profile]
KERNEL = ("compute", "k", 0, 1000)


def judged(profile: Profile, code: str) -> Finding:
    found = [one for one in judge_facts(profile, rules_of(rules), strict=True) if one.rule == code]
    assert len(found) == 1
    assert all(found[0].message(lang) for lang in LANGUAGES)
    return found[0]


def test_every_rule_has_its_own_code() -> None:
    codes = list(rules_of(rules))
    assert len(codes) >= 11
    assert all(code.startswith(("PRF3", "PRF40")) for code in codes)


def test_what_each_rule_rests_on() -> None:
    """By the last two digits; what is not here is said with each finding."""
    found = {}
    for package in ("", "ranks.", "compare."):
        folder = importlib.import_module(f"ascend_workbook.profiling.{package}rules")
        for part in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
            basis = getattr(importlib.import_module(part.name), "BASIS", {})
            found.update({part.name.rpartition(".")[2]: basis} if isinstance(basis, str) else basis)
    told = {
        "facts": "02 04 05 08 23 24 27 58 82 84 85 86 88",
        "reasoned": "03 12 13 14 15 21 26 31 51 53 81 83",
        "observed": "01 06 16",
        "defined": "07 25",
    }
    wanted = {f"PRF3{code}": basis for basis, codes in told.items() for code in codes.split()}
    assert found == {**wanted, "links": "reasoned"}


@pytest.mark.parametrize(
    ("tier", "kind", "key"),
    [
        ("npu", "compute", "PRF301.there"),
        ("npu", "host_op", "PRF301.absent"),
        ("cuda", "host_op", "PRF301.absent"),
        ("npu-simulated", "compute", "PRF301.simulated"),
        ("npu-simulated", "host_op", "PRF301.simulated_host"),
        ("cpu", "host_op", "PRF301.cpu"),
    ],
)
def test_device_data(profile_of: Make, tier: str, kind: str, key: str) -> None:
    found = judged(profile_of([(kind, "k", 0, 500)], tier=tier), "PRF301")
    assert found.key == key
    assert (found.status is Status.NOT_LOOKED) == (
        key in ("PRF301.absent", "PRF301.simulated", "PRF301.simulated_host")
    )


def test_steps(profile_of: Make) -> None:
    assert judged(profile_of([KERNEL], steps=4), "PRF302").key == "PRF302.first"
    assert judged(profile_of([KERNEL], steps=2), "PRF302").key == "PRF302.few"
    assert judged(profile_of([KERNEL], steps=2), "PRF303").status is Status.NOT_LOOKED
    assert judged(profile_of([KERNEL], steps=4), "PRF303").key == "PRF303.alike"


def test_slow_steps_are_counted_and_both_averages_told() -> None:
    starts = (0, 1000, 2000, 5000, 6000)
    marks = [
        Event(f"ProfilerStep#{at}", "step", "t", start * 1000, (end - start) * 1000)
        for at, (start, end) in enumerate(zip(starts, (*starts[1:], 7000)))
    ]
    profile = Profile.from_trace(
        build_trace([*marks, Event("aten::mm", "host_op", "t", 0, 7_000_000)], source="", dialect="kineto")
    )
    found = judged(profile, "PRF303")
    assert (found.key, found.args["slow"], found.args["steps"], found.args["step"]) == ("PRF303.apart", 1, 4, 2)
    assert (found.args["step_ms"], found.args["mean_ms"]) == (1.0, 1.5)


@pytest.mark.parametrize(
    ("length", "status"), [(950, Status.GOOD), (890, Status.NOTE), (740, Status.LOOK), (10, Status.LOOK)]
)
def test_idle_device(profile_of: Make, length: int, status: Status) -> None:
    found = judged(profile_of([("compute", "k", 0, length)]), "PRF311")
    assert found.status is status
    assert found.args["gain_ms"] == pytest.approx((1000 - length) / 1000)
    assert found.args["share"] == pytest.approx((1000 - length) / 10)


def test_communication_counts_only_where_nothing_hides_it(profile_of: Make) -> None:
    hidden = profile_of([KERNEL, ("communication", "nccl", 0, 900)])
    exposed = profile_of([("compute", "k", 0, 700), ("communication", "nccl", 600, 400)])
    assert judged(hidden, "PRF312").key == "PRF312.hidden"
    found = judged(exposed, "PRF312")
    assert (found.status, found.args["share"], found.args["gain_ms"]) == (Status.LOOK, 30.0, 0.3)
    assert judged(profile_of([KERNEL]), "PRF312").key == "PRF312.none"


def test_what_two_ranks_exchange_is_no_waiting_for_a_late_one(profile_of: Make) -> None:
    """All 300 us that nothing hides are waiting for a stage's other rank: pairwise, and none of it `waiting`."""
    profile = profile_of([("compute", "k", 0, 700), ("communication", "nccl", 600, 400)])
    none = dict.fromkeys(KINDS, 0)
    exchange = {**none, "pairwise": int(0.3 * profile.breakdown.total_ns)}
    profile.__dict__["exposed"] = Exposed(none, exchange, none, 1, np.empty(0, np.int64))
    found = judged(profile, "PRF312")
    assert (found.key, found.args["gain_ms"], found.args["share"]) == ("PRF312.pairwise", 0.3, 30.0)


def test_loading_counts_only_while_the_device_is_idle(profile_of: Make) -> None:
    waits = profile_of([("loading", "l", 0, 300), ("compute", "k", 200, 800)])
    hidden = profile_of([("loading", "l", 0, 300), KERNEL])
    assert judged(waits, "PRF313").args["share"] == 20.0
    assert judged(waits, "PRF313").status is Status.LOOK
    assert judged(hidden, "PRF313").key == "PRF313.hidden"
    assert judged(profile_of([KERNEL]), "PRF313").key == "PRF313.unseen"


def test_synchronisation_counts_the_idle_time_that_begins_in_it(profile_of: Make) -> None:
    dry = profile_of([("compute", "k", 0, 700), ("runtime", "cudaStreamSynchronize", 500, 210)])
    other = profile_of([("compute", "k", 0, 700), ("runtime", "cudaStreamSynchronize", 100, 300)])
    named = profile_of([("compute", "k", 0, 700), ("runtime", "AscendCL@aclrtMemcpyAsync", 500, 210)])
    assert judged(dry, "PRF314").status is Status.LOOK
    assert judged(profile_of([KERNEL]), "PRF314").key == "PRF314.no_host"
    assert judged(dry, "PRF314").args["share"] == 30.0
    assert judged(other, "PRF314").key == judged(named, "PRF314").key == "PRF314.harmless"


@pytest.mark.parametrize("code", ["PRF315", "PRF331"])
def test_what_a_simulator_cannot_tell_is_skipped(profile_of: Make, code: str) -> None:
    events = [("host_op", "aten::_local_scalar_dense", 0, 500)]
    assert judged(profile_of(events, tier="npu-simulated"), code).status is Status.NOT_LOOKED
    assert judged(profile_of(events, tier="cpu"), code).status <= Status.NOTE


@pytest.mark.parametrize("tier", ["cpu", "npu-simulated"])
def test_without_a_device_the_lines_that_read_values_are_told(profile_of: Make, tier: str) -> None:
    read, mm = ("host_op", "aten::_local_scalar_dense", 0, 50), ("host_op", "aten::mm", 0, 500)
    found = judged(profile_of([read, mm], tier=tier), "PRF314")
    assert (found.key, found.status, found.args["calls"]) == ("PRF314.read_somewhere", Status.NOTE, 1.0)
    profile = profile_of([read, mm], tier=tier)
    stacks = ("", "torch/_tensor.py(9): item\n/home/me/train.py(12): step")
    placed = replace(profile.trace, stacks=stacks, stack=(profile.trace.name == profile.trace.name[4]).astype("int32"))
    found = judged(replace(profile, trace=placed), "PRF314")
    assert (found.key, found.args["where"]) == ("PRF314.read", ["/home/me/train.py:12"])
    marked = profile_of([read, mm, ("annotation", "my own mark", 0, 100)], tier=tier)
    assert judged(marked, "PRF314").key == "PRF314.read_somewhere", "only an optimizer's reads wait for no device"
    beyond = judged(profile_of([read, mm], tier="cuda"), "PRF314")
    assert beyond.key == "PRF314.no_device", "hosts of an accelerator without its times tell nothing"
    near = [profile_of([mm], tier=tier), profile_of([read, mm, ("loading", "l", 0, 100)], tier=tier)]
    near.append(profile_of([read, mm, ("annotation", "Optimizer.step#Adam.step", 0, 100)], tier=tier))
    assert {judged(one, "PRF314").key for one in near} == {"PRF314.cpu" if tier == "cpu" else "PRF314.no_device"}


def test_waiting_for_data_is_the_hosts_own_where_no_device_took_part(profile_of: Make) -> None:
    events = [("host_op", "aten::mm", 0, 200), ("loading", "_SingleProcessDataLoaderIter", 300, 300)]
    for tier, status in (("npu-simulated", Status.NOTE), ("cpu", Status.LOOK)):
        waits, recipe = (judged(profile_of(events, tier=tier), code) for code in ("PRF313", "PRF394"))
        assert (waits.key, waits.status) == ("PRF313.host", status)
        assert (recipe.key, recipe.status, recipe.args["share"]) == ("PRF394.alone_host", Status.NOTE, 30.0)
        assert "the wait is not smaller" in waits.message("en") and "num_workers" in recipe.hint("en")
        assert judged(profile_of(events[:1], tier=tier), "PRF394").status is Status.NOT_LOOKED


def test_on_the_simulator_nothing_is_worse_than_a_note(profile_of: Make) -> None:
    events = [("host_op", "aten::mm", 0, 200), ("loading", "l", 300, 300)]
    for code in ("PRF311", "PRF313"):
        assert judged(profile_of(events, tier="npu-simulated"), code).status is Status.NOTE
        assert judged(profile_of(events, tier="cpu"), code).status is Status.LOOK


def test_times_of_a_simulated_device_are_no_times_of_an_npu(profile_of: Make) -> None:
    events = [("compute", "k", 0, 300), ("communication", "hcom_allReduce_", 300, 400), ("copy", "c", 700, 100)]
    simulated = profile_of(events, tier="npu-simulated")
    assert not simulated.device_times
    for code in ("PRF312", "PRF314", "PRF315", "PRF331"):
        assert judged(simulated, code).status is Status.NOT_LOOKED
        assert judged(profile_of(events, tier="npu"), code).status is not Status.NOT_LOOKED or code == "PRF314"
    idle = judged(simulated, "PRF311")
    assert (idle.key, idle.status) == ("PRF311.simulated", Status.NOTE)


def test_copies(profile_of: Make) -> None:
    exposed = profile_of([("compute", "k", 0, 850), ("copy", "Memcpy HtoD", 800, 200)])
    assert (judged(exposed, "PRF315").status, judged(exposed, "PRF315").args["share"]) == (Status.LOOK, 15.0)
    assert judged(profile_of([KERNEL, ("copy", "c", 0, 900)]), "PRF315").key == "PRF315.hidden"


def test_a_dominant_operator(profile_of: Make) -> None:
    one = judged(profile_of([("compute", "big", 0, 400), ("compute", "small", 400, 100)]), "PRF331")
    assert (one.key, one.args["operator"], one.args["share"]) == ("PRF331.one", "big", 40.0)
    many = profile_of([("compute", f"k{n}", 100 * n, 100) for n in range(10)])
    assert judged(many, "PRF331").key == "PRF331.many"


def test_that_no_operator_dominates_is_about_computing_ones(profile_of: Make) -> None:
    """A collective may cost far more: the sentence says that it is not among these, and what the share is of."""
    found = judged(
        profile_of(
            [("communication", "hcom_allReduce_", 0, 700), ("compute", "a", 700, 60), ("compute", "b", 760, 20)]
        ),
        "PRF331",
    )
    assert (found.key, found.args["operator"]) == ("PRF331.many", "a")
    assert (found.args["share"], found.args["computing_share"]) == (6.0, 75.0)
    assert "computing operator" in found.message("en") and "collectives and copies are not" in found.message("en")
    assert "不含集合通信与拷贝" in found.message("zh")


def test_idle_says_whether_waiting_for_data_is_in_it(profile_of: Make) -> None:
    made = profile_of([("compute", "k", 0, 500), ("loading", "l", 500, 200)])
    profile = Profile.from_trace(replace(made.trace, launch_ns=made.trace.start_ns.copy()), made.record)
    free, idle = judged(profile, "PRF311"), judged(profile, "PRF321")
    shares = (free.args["share"], idle.args["share"])
    assert shares == (30.0, 50.0) and judged(profile, "PRF313").args["share"] == 20.0
    assert "without waiting for data" in free.message("en") and "不含等待数据" in free.message("zh")
    assert "waiting for data included" in idle.message("en") and "含等待数据" in idle.message("zh")


def test_a_gain_is_never_more_than_the_step(profile_of: Make) -> None:
    streams = profile_of([("compute", "k", 0, 1000)] * 5)
    assert judged(streams, "PRF331").args["gain_ms"] == 1.0


def test_host_operators_of_an_accelerator_tell_nothing(profile_of: Make) -> None:
    blind = profile_of([("host_op", "aten::mm", 0, 900)], tier="npu")
    for code in ("PRF311", "PRF313", "PRF331"):
        assert judged(blind, code).key == f"{code}.blind"
        assert judged(blind, code).status is Status.NOT_LOOKED


@pytest.mark.parametrize("reason", ["no_time", "negative_duration", "time_out_of_range", "unknown_task_type"])
def test_what_was_left_out_is_said(profile_of: Make, reason: str) -> None:
    found = judged(profile_of([KERNEL], left_out={reason: 3}), "PRF304")
    assert (found.status, found.args["count"]) == (Status.LOOK, 3)


def test_the_profilers_own_table(profile_of: Make) -> None:
    profile = profile_of([("compute", "k", 0, 700)])
    assert "PRF306" not in {one.rule for one in judge_facts(profile, rules_of(rules), strict=True)}
    for computing_ns, key in ((700_900, "PRF306.same"), (702_000, "PRF306.apart")):
        told = {1: {"Computing": computing_ns}, 99: {"Computing": 5}}
        assert judged(replace(profile, told=told), "PRF306").key == key
