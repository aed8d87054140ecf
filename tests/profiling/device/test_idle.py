"""Each piece of idle time has one cause, and the causes sum to the idle time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import judge_facts, rules_of
from ascend_workbook.profiling import rules
from ascend_workbook.profiling.breakdown import break_down
from ascend_workbook.profiling.device.answers import report_idle
from ascend_workbook.profiling.device.idle import CAUSES, idle_by_cause, summarise_launches
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.readers import read_trace
from ascend_workbook.profiling.trace import UNTOLD, Event, build_trace
from tests.profiling.conftest import DATA, US, WITH_DEVICE, step


def kernel(start: int, length: int, launch: int) -> Event:
    launched = launch * US if launch != UNTOLD else UNTOLD
    return Event("k", "compute", "device", start * US, length * US, launch_ns=launched)


def profile(*events: Event) -> Profile:
    return Profile.from_trace(build_trace([step(1, 0, 1000), *events], source="", dialect="kineto"))


def judged(of: Profile) -> Finding:
    return next(one for one in judge_facts(of, rules_of(rules), strict=True) if one.rule == "PRF321")


def microseconds(of: Profile) -> dict[str, float]:
    return {cause: ns / US for cause, ns in of.idle.items() if ns}


def test_the_launch_parts_a_gap() -> None:
    found = profile(kernel(0, 100, 0), kernel(400, 600, 350))
    assert microseconds(found) == {"host": 250, "start": 50}
    assert judged(found).key == "PRF321.host"
    assert judged(found).args["gain_ms"] == 0.25


def test_launched_before_the_gap_is_no_fault_of_the_host() -> None:
    assert microseconds(profile(kernel(0, 100, 0), kernel(400, 600, 50))) == {"start": 300}


def on(device: int, start: int, length: int, launch: int) -> Event:
    return kernel(start, length, launch)._replace(lane=f"device {device} stream 7")


def test_two_devices_are_not_told_as_one() -> None:
    two = profile(on(0, 0, 450, 0), on(1, 450, 450, 10))
    found = {one.rule: one for one in judge_facts(two, rules_of(rules), strict=True)}
    told = found["PRF308"]
    assert (told.status, told.args["count"], told.args["together"]) == (Status.LOOK, 2, 90.0), (
        "the step ends with its mark"
    )
    assert "device 0 45 %" in told.message("en") and "device 1 45 %" in told.message("en")
    assert found["PRF321"].status is found["PRF322"].status is Status.NOT_LOOKED
    one = {
        one.rule for one in judge_facts(profile(on(0, 0, 450, 0), on(0, 450, 450, 10)), rules_of(rules), strict=True)
    }
    assert "PRF308" not in one


def test_kernels_of_one_launch_count_once() -> None:
    graph = profile(kernel(0, 900, 0), *(kernel(905 + 9 * at, 8, 903) for at in range(10)))
    found = summarise_launches(graph.trace, graph.breakdown.steady)
    assert (found.kernels, found.launched, found.short) == (11, 2, 0)
    keys = [one.key for one in judge_facts(graph, rules_of(rules), strict=True) if one.rule == "PRF322"]
    assert keys == ["PRF322.few", "PRF322.shared"]
    single = profile(kernel(0, 900, 0), *(kernel(905 + 9 * at, 8, 903 + at) for at in range(10)))
    assert summarise_launches(single.trace, single.breakdown.steady).short == 10
    assert [one.key for one in judge_facts(single, rules_of(rules), strict=True) if one.rule == "PRF322"] == [
        "PRF322.few"
    ]


def test_a_gap_that_begins_while_the_host_waits_is_synchronisation() -> None:
    wait = Event("cudaStreamSynchronize", "runtime", "t", 50 * US, 60 * US)
    late = Event("cudaStreamSynchronize", "runtime", "t", 150 * US, 60 * US)
    kernels = (kernel(0, 100, 0), kernel(400, 600, 350))
    assert microseconds(profile(*kernels, wait)) == {"synchronisation": 250, "start": 50}
    assert microseconds(profile(*kernels, late)) == {"host": 250, "start": 50}


def test_loading_and_building_come_first() -> None:
    loading = Event("next", "loading", "t", 50 * US, 150 * US)
    building = Event("AscendCL@opCompile", "runtime", "t", 150 * US, 100 * US)
    found = profile(kernel(0, 100, 0), kernel(400, 600, 350), loading, building)
    assert microseconds(found) == {"loading": 100, "compiling": 50, "host": 100, "start": 50}


def test_running_what_was_compiled_is_no_building() -> None:
    kernels = (kernel(0, 100, 0), kernel(400, 600, 350))
    for name in ("Torch-Compiled Region: 0/0", "CompiledFunctionBackward", "Call CompiledFxGraph fa3"):
        running = Event(name, "host_op", "t", 100 * US, 250 * US)
        assert microseconds(profile(*kernels, running)) == {"host": 250, "start": 50}
    building = Event("compile_fx.<locals>.compile_inner (dynamo_timed)", "host_op", "t", 100 * US, 250 * US)
    assert microseconds(profile(*kernels, building)) == {"compiling": 250, "start": 50}


def test_without_a_launch_it_is_unexplained() -> None:
    found = profile(kernel(0, 100, 0), kernel(400, 600, UNTOLD))
    assert microseconds(found) == {"unexplained": 300}
    assert judged(found).key == "PRF321.no_launches"
    table = report_idle(found, "profiling", []).table
    assert table is not None
    assert [row[1] for row in table.rows] == [None] * 5 + [pytest.approx(0.3)]


def test_a_device_that_never_rests() -> None:
    assert judged(profile(kernel(0, 1000, 0))).key == "PRF321.none"


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_the_same_causes_in_every_dialect(name: str) -> None:
    trace = read_trace(DATA / name)
    found = Profile.from_trace(trace)
    a_step = {cause: ns / US / 2 for cause, ns in found.idle.items() if ns}
    # the gap begins at 850, and the synchronising call lasts until 855; 1000-1100 loads; launched at 1150
    assert a_step == {"loading": 100, "synchronisation": 200, "start": 50}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["compute", "loading", "runtime"]),
            st.integers(0, 399),
            st.integers(1, 60),
            st.integers(-1, 399),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_causes_sum_to_the_idle_time(events: list[tuple[str, int, int, int]]) -> None:
    made = [step(0, 0, 200), step(1, 200, 200), kernel(10, 5, 3)]
    for kind, start, length, launch in events:
        name = "Compile" if launch % 2 else "cudaDeviceSynchronize"
        made.append(Event(name, kind, kind, start * US, length * US, launch_ns=launch * US if launch >= 0 else UNTOLD))
    trace = build_trace(made, source="", dialect="kineto")
    steps = break_down(trace).steps
    found = idle_by_cause(trace, steps, Profile.from_trace(trace).waiting)
    assert tuple(found) == CAUSES
    assert min(found.values()) >= 0
    assert sum(found.values()) == sum(one.parts_ns["free"] + one.parts_ns["loading"] for one in steps)
    assert np.all(trace.launch_ns >= UNTOLD)
