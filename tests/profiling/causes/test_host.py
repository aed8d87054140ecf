"""What the host alone tells: of a CPU, and of an accelerator that was not recorded. Counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ascend_workbook.findings.sentence import LANGUAGES
from ascend_workbook.profiling.causes import Cause, find_causes
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.trace import Event, Trace, build_trace
from tests.profiling.conftest import US, step

MAIN, OTHER = "1/1", "1/2"
Host = tuple[str, str, int, int]
CARD = {"deviceProperties": [{"name": "a card"}]}


def made(*host: Host, length: int = 100_000, about: dict[str, object] | None = None, lane: str = MAIN) -> Trace:
    """One step of `length` us in which the host does (kind, name, start, length), all in microseconds."""
    events = [step(0, 0, length)._replace(lane=MAIN)]
    events += [Event(name, kind, lane, start * US, lasts * US) for kind, name, start, lasts in host]
    return build_trace(events, source="made", dialect="kineto", about=about or {})


def told(trace: Trace, tier: str = "cpu") -> tuple[Cause, ...]:
    found = find_causes(Profile.from_trace(trace, {"tier": tier}))
    assert all(cause.evidence.text(lang) for cause in found for lang in LANGUAGES)
    return found


def operators(name: str, count: int, every: int, lasts: int, begin: int = 0) -> list[Host]:
    return [("host_op", name, begin + number * every, lasts) for number in range(count)]


def test_a_cpu_computes() -> None:
    """Convolution 60 of 100 ms, batch norm 20: of a family, with its share; healthy is no answer."""
    convs, norms = operators("aten::mkldnn_convolution", 10, 8_000, 6_000), []
    norms = operators("aten::native_batch_norm", 10, 8_000, 2_000, 6_000)
    first = told(made(*convs, *norms))[0]
    assert (first.kind, first.where, first.confidence) == ("computing", "conv", "sure")
    assert first.share == pytest.approx(0.8)


@pytest.mark.parametrize("name", ["aten::addmm", "aten::bmm", "_C::onednn_mm", "sgl-kernel::weight_packed_linear"])
def test_matrix_products_as_operators_are_called(name: str) -> None:
    assert told(made(*operators(name, 10, 8_000, 7_900)))[0].where == "gemm"


def test_many_small_operators_with_python_between_are_not_computing() -> None:
    """60 of 100 ms between operators of 40 us: 48 % is the operators' own, and can only be made shorter."""
    found = told(made(*operators("aten::mul", 1000, 100, 40)))
    assert [cause.kind for cause in found] == ["tiny_kernels", "computing"]


def test_collectives_of_a_cpu() -> None:
    inside = told(made(*operators("gloo:recv", 10, 9_000, 8_000), *operators("aten::add", 10, 9_000, 500, 8_000)))
    assert (inside[0].kind, inside[0].where) == ("communication", "gloo:recv")
    assert inside[0].share == pytest.approx(0.8)
    trace = made(*operators("aten::mm", 4, 5_000, 5_000))
    beside = [Event("gloo:all_reduce", "annotation", OTHER, 10_000 * US, 80_000 * US)]
    own = [
        Event(trace.names[trace.name[at]], "host_op", MAIN, int(trace.start_ns[at]), 5_000 * US) for at in range(1, 5)
    ]
    both = build_trace([step(0, 0, 100_000)._replace(lane=MAIN), *own, *beside], source="made", dialect="kineto")
    first = told(both)[0]
    assert (first.kind, first.where) == ("communication", "gloo:all_reduce")
    assert first.share == pytest.approx(0.7), "80 ms, of which 10 beside the operators"
    assert sum(cause.share for cause in told(both)) <= 1.01


LAUNCHES = [("runtime", "cudaLaunchKernel", 90_000 + 100 * at, 10) for at in range(20)]


def test_a_device_that_was_not_recorded_and_does_not_hold_the_host() -> None:
    """75 of 100 ms draw random numbers on the CPU, 20 launches, and 1 ms waits: the device is not what is slow."""
    host = [("host_op", "aten::normal_", 0, 75_000), ("host_op", "aten::mul", 90_000, 3_000), *LAUNCHES]
    wait = ("runtime", "cudaDeviceSynchronize", 95_000, 1_000)
    first = told(made(*host, wait, about=CARD), "")[0]
    assert (first.kind, first.where, first.confidence) == ("python", "aten::normal_", "likely")
    longer = ("runtime", "cudaDeviceSynchronize", 95_000, 40_000)
    assert told(made(*host, longer, length=140_000, about=CARD), "")[0].kind == "untold", "it waits for the device"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("cudaFree", "allocation"), ("cudaDeviceGetStreamPriorityRange", "start_up"), ("cudaMemcpyAsync", "blocked_copy")],
)
def test_a_call_that_takes_most_of_the_time(name: str, kind: str) -> None:
    calls = [("runtime", name, 10_000 * at, 6_000) for at in range(10)]
    first = told(made(("host_op", "aten::mm", 99_000, 100), *calls, about=CARD), "")[0]
    assert (first.kind, first.where) == (kind, name)


def test_many_launches_and_no_kernel_tell_nothing() -> None:
    host = [
        *operators("aten::add", 1000, 100, 60),
        *(("runtime", "cudaLaunchKernel", 100 * at, 9) for at in range(1000)),
    ]
    assert [cause.kind for cause in told(made(*host, about=CARD), "")] == ["untold"]


def test_a_card_beside_a_model_on_the_cpu() -> None:
    """The machine has a card, nothing was launched, and operators take milliseconds: they computed on the CPU."""
    host = [*operators("aten::mkldnn_convolution", 10, 8_000, 7_000)]
    assert (told(made(*host, about=CARD), "")[0].kind, told(made(*host, about=CARD), "")[0].where) == (
        "computing",
        "conv",
    )
    cut = replace(made(*host, about=CARD), cut_at=100)
    assert told(cut, "")[0].kind == "untold", "what follows may be the device's"


def test_a_rank_whose_other_threads_are_missing_tells_nothing() -> None:
    """A span that somebody named takes 45 ms with nothing in it: no hand-out of small kernels."""
    host = [("annotation", "## backward ##", 40_000, 45_000), *operators("aten::add", 400, 100, 50)]
    assert told(made(*host))[0].kind == "untold"


def test_a_microsecond_tells_nothing() -> None:
    """What fills a second fills it with work; what fills four microseconds is a test of the profiler."""
    names = ("aten::mm", "aten::bmm", "aten::addmm")
    short = made(*(("host_op", name, at, 1) for at, name in enumerate(names)), length=4)
    assert told(short)[0].kind == "untold"
    long = made(*(("host_op", name, 10_000 * at, 10_000) for at, name in enumerate(names)), length=40_000)
    assert told(long)[0].kind == "computing"
