"""Each cause by a trace whose gaps are counted by hand; what is told of all causes together, whatever is in a trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_workbook.findings.sentence import LANGUAGES
from ascend_workbook.profiling.breakdown import idle_gaps
from ascend_workbook.profiling.causes import Cause, find_causes
from ascend_workbook.profiling.causes.answers import describe_cause
from ascend_workbook.profiling.causes.engine import _causes_of_rest
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.trace import KINDS, Event, Trace, build_trace
from tests.profiling.conftest import US, step

MAIN = "1/1"
Host = tuple[str, str, int, int]


def launched(kernels: list[tuple[int, int, int]], host: list[Host], steps: int = 1, length: int = 100_000) -> Trace:
    """Steps of `length` us: kernels (launched, start, length) and the host's (kind, name, start, length), each of these
    in every step; a kernel's launch is a call of 5 us unless one of the host's begins then."""
    events: list[Event] = []
    for number in range(steps):
        base = number * length
        events.append(step(number, base, length)._replace(lane=MAIN))
        own = {start for kind, _, start, _ in host if kind == "runtime"}
        for kind, name, start, lasts in host:
            events.append(Event(name, kind, MAIN, (base + start) * US, lasts * US))
        for launch, start, lasts in kernels:
            if launch not in own:
                events.append(Event("cudaLaunchKernel", "runtime", MAIN, (base + launch) * US, 5 * US))
            name, lane = "gemm_kernel", "device 0 stream 7"
            events.append(Event(name, "compute", lane, (base + start) * US, lasts * US, launch_ns=(base + launch) * US))
    return build_trace(events, source="made", dialect="kineto")


def causes_of(trace: Trace, tier: str = "cuda") -> dict[str, Cause]:
    found = find_causes(Profile.from_trace(trace, {"tier": tier}))
    assert all(cause.evidence.text(lang) and describe_cause(cause) for cause in found for lang in LANGUAGES)
    return {cause.kind: cause for cause in reversed(found)}


def first(trace: Trace, tier: str = "cuda") -> Cause:
    return find_causes(Profile.from_trace(trace, {"tier": tier}))[0]


#: A kernel of 10 ms, and one that the host launches after 60 ms of something else
BETWEEN = [(0, 10, 10_000), (70_000, 70_010, 29_990)]
FUNCTION = {
    "preprocessing": "torchvision/transforms/functional.py(5): resize",
    "checkpoint": "torch/serialization.py(900): save",
    "logging": "logging/__init__.py(1477): info",
    "garbage": "<built-in function collect>",
    "compiling": "torch/_inductor/compile_fx.py(7): compile_fx_inner",
    "profiler": "torch/profiler/profiler.py(700): step",
    "loading": "torch/utils/data/dataloader.py(625): __next__",
    "python": "train.py(41): shuffle",
}


@pytest.mark.parametrize(("kind", "name"), FUNCTION.items())
def test_a_function_that_keeps_the_host_busy(kind: str, name: str) -> None:
    """60 ms of the 100: its name says what it is, the nearest of the script's own functions where."""
    host: list[Host] = [("python", "train.py(12): main", 0, 99_000), ("python", name, 10_010, 59_990)]
    cause = first(launched(BETWEEN, host))
    assert (cause.kind, cause.share) == (kind, pytest.approx(0.5999, abs=1e-4))
    assert cause.where == ("train.py:41 shuffle" if kind == "python" else "train.py:12 main")
    assert cause.predicted is not None
    assert cause.predicted.most_ns == pytest.approx(59_990 * US, rel=1e-3)


CALLS: list[tuple[str, list[Host]]] = [
    ("start_up", [("runtime", "cudaDeviceGetStreamPriorityRange", 10_010, 59_990)]),
    ("allocation", [("runtime", "hipFree", 10_010, 59_990)]),
    ("lazy_loading", [("runtime", "cuModuleLoadData", 10_010, 59_990)]),
    ("fallback", [("host_op", "npu::_cpu_fallback", 10_010, 59_990)]),
    ("blocked_copy", [("host_op", "aten::copy_", 10_010, 59_990), ("runtime", "cudaMemcpyAsync", 10_010, 59_980)]),
    ("synchronisation", [("runtime", "cudaDeviceSynchronize", 10_010, 59_990)]),
]


@pytest.mark.parametrize(("kind", "host"), CALLS)
def test_a_call_that_keeps_the_host(kind: str, host: list[Host]) -> None:
    cause = first(launched(BETWEEN, host))
    assert (cause.kind, cause.share) == (kind, pytest.approx(0.6, abs=1e-3))


def test_a_launch_that_blocks_loads_its_kernel() -> None:
    """The call begins at once and returns after 60 ms: what it began is no launch yet."""
    kernels = [(0, 10, 10_000), (10_010, 70_010, 29_990)]
    cause = first(launched(kernels, [("runtime", "hipLaunchKernel", 10_010, 60_000)]))
    assert (cause.kind, cause.share) == ("lazy_loading", pytest.approx(0.6, abs=1e-3))


def test_work_from_before_the_recording() -> None:
    """Launched at once, started after 60 ms, with nothing before: the device was busy with what is not there."""
    cause = first(launched([(10, 60_000, 40_000)], []))
    assert (cause.kind, cause.share) == ("midflight", pytest.approx(0.6, abs=1e-3))
    later = launched([(0, 10, 20_000), (20, 80_000, 20_000)], [])
    assert "midflight" not in causes_of(later), "the device worked before: it waits for something else"


def test_many_short_gaps_alike_are_launches() -> None:
    kernels = [(500 * at, 500 * at + 10, 150) for at in range(200)]
    host: list[Host] = [("host_op", "aten::add", 500 * at + 170, 330) for at in range(199)]
    assert first(launched(kernels, host)).kind == "tiny_kernels"
    one = causes_of(launched(BETWEEN, [("host_op", "aten::sort", 10_010, 59_990)]))
    assert "tiny_kernels" not in one and one["python"].where == "aten::sort"


def test_a_wait_has_the_gap_that_it_leaves_up_to_what_it_took() -> None:
    """The host waits 5 ms for the kernel, then needs 3 ms to hand out the next: those are the wait's."""
    kernels = [(0, 10, 10_000), (13_010, 13_020, 86_000)]
    host: list[Host] = [("host_op", "aten::item", 5_000, 5_050), ("runtime", "cudaStreamSynchronize", 5_010, 5_030)]
    found = causes_of(launched(kernels, [*host, ("host_op", "aten::add", 10_060, 2_950)]))
    assert found["synchronisation"].share == pytest.approx(0.0301, abs=3e-4)
    assert "python" not in found


def test_the_thread_that_is_busy_is_asked() -> None:
    """The script waits in backward, the thread of autograd works: the operator there is the place."""
    trace = launched(BETWEEN, [("python", "<built-in method run_backward of X object>", 10_010, 59_000)])
    own = Event("MulBackward0", "host_op", "1/2", 10_010 * US, 59_000 * US)
    rows = [
        Event(
            trace.names[trace.name[at]], "compute" if "gemm" in trace.names[trace.name[at]] else kind, lane, start, ns
        )
        for at, (kind, lane, start, ns) in enumerate(_columns(trace))
    ]
    found = causes_of(build_trace([*rows, own], source="made", dialect="kineto"))
    assert found["python"].where == "MulBackward0"


def _columns(trace: Trace) -> list[tuple[str, str, int, int]]:
    from ascend_workbook.profiling.trace import KINDS

    return [
        (KINDS[trace.kind[at]], trace.lanes[trace.lane[at]], int(trace.start_ns[at]), int(trace.duration_ns[at]))
        for at in range(len(trace))
    ]


def test_a_busy_device_is_told_by_its_kernels() -> None:
    found = find_causes(Profile.from_trace(launched([(0, 10, 99_000)], []), {"tier": "cuda"}))
    assert [(cause.kind, cause.where) for cause in found] == [("computing", "gemm")]


def test_what_cannot_be_said() -> None:
    """Host operators alone tell nothing of a device; a device that rests, and a host of which nothing was recorded."""
    blind = build_trace(
        [step(0, 0, 1000), Event("aten::mm", "host_op", MAIN, 0, 900 * US)], source="", dialect="ascend"
    )
    assert [cause.kind for cause in find_causes(Profile.from_trace(blind, {"tier": "npu"}))] == ["untold"]
    assert first(launched(BETWEEN, [])).confidence == "unsure"


def test_on_a_simulated_npu_the_hosts_launching_is_no_cause() -> None:
    kernels = [(1000 * at, 1000 * at + 10, 400) for at in range(100)]
    host: list[Host] = [("host_op", "aten::add", 1000 * at + 450, 550) for at in range(99)]
    assert not find_causes(Profile.from_trace(launched(kernels, host), {"tier": "npu-simulated"}))
    saves: list[Host] = [
        ("python", "train.py(12): main", 0, 99_000),
        ("python", FUNCTION["checkpoint"], 10_010, 59_990),
    ]
    assert first(launched(BETWEEN, saves), "npu-simulated").kind == "checkpoint"


NAMES = ["aten::add", "cudaLaunchKernel", "cudaMemcpyAsync", "torch/serialization.py(1): save", "train.py(1): main"]
NAMES += ["cudaStreamSynchronize", "enumerate(DataLoader)#x.__next__", "<built-in function collect>", "hipFree"]
SPANS = st.lists(
    st.tuples(
        st.sampled_from(["host_op", "runtime", "python"]),
        st.sampled_from(NAMES),
        st.integers(0, 999),
        st.integers(1, 500),
    ),
    max_size=20,
)
KERNELS = st.lists(st.tuples(st.integers(0, 999), st.integers(0, 999), st.integers(1, 200)), min_size=1, max_size=12)


@settings(max_examples=120, deadline=None)
@given(KERNELS, SPANS, st.integers(1, 3), st.integers(0, 10**15), st.randoms())
def test_causes_are_never_more_than_the_rest_and_know_no_clock_and_no_order(
    kernels: list[tuple[int, int, int]], host: list[Host], steps: int, shift: int, random: object
) -> None:
    trace = launched([(min(a, b), max(a, b), ns) for a, b, ns in kernels], host, steps, 1000)
    profile = Profile.from_trace(trace, {"tier": "cuda"})
    every = list(_causes_of_rest(profile))
    rest = idle_gaps(trace, profile.breakdown.steady).length_ns / len(profile.breakdown.steady)
    assert sum(cause.spent_ns for cause in every) <= rest + 1
    assert all(0 <= cause.share <= 1 for cause in every)
    assert all(cause.predicted is None or cause.predicted.least_ns >= 0 for cause in every)
    launch = np.where(trace.launch_ns >= 0, trace.launch_ns + shift, trace.launch_ns)
    moved = replace(
        trace,
        start_ns=trace.start_ns + shift,
        launch_ns=launch,
        steps=tuple(replace(at, start_ns=at.start_ns + shift, end_ns=at.end_ns + shift) for at in trace.steps),
    )
    assert [(one.kind, one.spent_ns) for one in find_causes(Profile.from_trace(moved, {"tier": "cuda"}))] == [
        (one.kind, one.spent_ns) for one in find_causes(profile)
    ]


def test_real_traces_by_their_first_cause(shared: Path) -> None:
    from ascend_workbook.profiling.facts import load_profile

    folder = shared / "data" / "gpu"
    expected = {
        "kineto_resnet50/num_workers_0/worker0.1623143089861.pt.trace.json.gz": "loading",
        "nccl_data.json.gz": "tiny_kernels",
        "rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz": "computing",
    }
    assert {name: load_profile(folder / name).causes[0].kind for name in expected} == expected


def test_the_first_call_of_an_operator_sets_up_its_library() -> None:
    """The first product takes the host 60 ms, the others 0.1: no library was there. One call alone says nothing."""
    first_call: Host = ("host_op", "aten::mm", 10_010, 59_985)
    others: list[Host] = [("host_op", "aten::mm", 70_100 + 200 * at, 100) for at in range(5)]
    cause = first(launched(BETWEEN, [first_call, *others]))
    assert (cause.kind, cause.where) == ("lazy_loading", "aten::mm")
    assert first(launched(BETWEEN, [first_call])).kind == "python"
    earlier: Host = ("host_op", "aten::mm", 100, 100)
    assert first(launched(BETWEEN, [earlier, first_call, *others])).kind == "python", "it was called before"


def test_an_operator_that_reserves_memory_for_long_makes_the_context() -> None:
    kernels = [(0, 10, 100_000), (700_000, 700_010, 290_000)]
    cause = first(launched(kernels, [("host_op", "aten::empty_strided", 100_020, 599_000)], length=1_000_000))
    assert (cause.kind, cause.where) == ("start_up", "aten::empty_strided")


def test_a_long_stretch_without_a_record_is_no_small_kernel() -> None:
    """199 gaps of 0.05 ms, and one of 30 ms of which nothing at all is known: that is not said of the launches."""
    kernels = [(300 * at, 300 * at + 10, 250) for at in range(200)]
    late = [
        (launch + 30_000 * (launch >= 30_000), start + 30_000 * (launch >= 30_000), lasts)
        for launch, start, lasts in kernels
    ]
    host: list[Host] = [("host_op", "aten::add", launch - 45, 44) for launch, _, _ in late if launch]
    found = causes_of(launched(late, host, length=90_000))
    assert found["untold"].share == pytest.approx(1 / 3, abs=0.01) and found["untold"].confidence == "unsure"
    assert found["tiny_kernels"].share < 0.15


@pytest.mark.parametrize(("long_ones", "confidence"), [(0, "sure"), (8, "likely")])
def test_gaps_that_are_not_alike(long_ones: int, confidence: str) -> None:
    """200 gaps of 0.1 ms, or eight of these of 4 ms: then a larger batch shortens less than half of what they take."""
    kernels, at, host = [], 0, []
    for number in range(200):
        kernels.append((at, at + 10, 150))
        rest = 4_000 if 100 <= number < 100 + long_ones else 100
        host += [
            ("host_op", f"aten::op{number}_{part}", at + 160 + 400 * part, min(400, rest))
            for part in range(-(-rest // 400))
        ]
        at += 160 + rest
    cause = causes_of(launched(kernels, host, length=at))["tiny_kernels"]
    assert cause.confidence == confidence


def test_the_profilers_frame_around_a_step_is_not_what_goes_on_in_it() -> None:
    """The profiler's step() opens the step and its frame is not seen to end; one inside of it is its own work."""
    name = "torch/profiler/profiler.py(700): step"
    kernels = [(500 * at + 1, 500 * at + 11, 150) for at in range(200)]
    host: list[Host] = [("host_op", "aten::add", 500 * at + 170, 330) for at in range(199)]
    trace = launched(kernels, host)
    frame = Event(name, "python", MAIN, -10 * US, 99_990 * US)
    rows = [
        Event(trace.names[trace.name[at]], KINDS[trace.kind[at]], trace.lanes[trace.lane[at]],
              int(trace.start_ns[at]), int(trace.duration_ns[at]), launch_ns=int(trace.launch_ns[at]))
        for at in range(len(trace))
    ]  # fmt: skip
    assert first(build_trace([*rows, frame], source="made", dialect="kineto")).kind == "tiny_kernels"
    brief = frame._replace(start_ns=-10 * US, duration_ns=5_000 * US)
    found = find_causes(
        Profile.from_trace(build_trace([*rows, brief], source="made", dialect="kineto"), {"tier": "cuda"})
    )
    assert "profiler" in {cause.kind for cause in found}, "it begins the next step before it returns"


@pytest.mark.parametrize(("lasts", "kind"), [(700, "tiny_kernels"), (2_000, "compiling")])
def test_a_call_that_compiles_and_executes(lasts: int, kind: str) -> None:
    """CANN's call has that name whether it finds a kernel or builds one; how long it takes tells which."""
    every = lasts + 200
    kernels = [(every * at, every * at + lasts + 10, 150) for at in range(40)]
    host: list[Host] = [("runtime", "AscendCL@aclopCompileAndExecute", every * at, lasts) for at in range(40)]
    assert first(launched(kernels, host, length=40 * every)).kind == kind
