"""The virtual clock by hand, and the estimated profile as `analyse` reads it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ascend_workbook.estimates.basis import load_basis
from ascend_workbook.estimates.kernels import estimate_kernel
from ascend_workbook.estimates.launches import estimate_launches
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.planning.rehearsal.clock import READ_NS, Span, describe_calls, run_clock
from ascend_workbook.planning.rehearsal.exposed import add_exposed, measure_exposed
from ascend_workbook.planning.rehearsal.profile import STEPS, write_profile
from ascend_workbook.planning.rehearsal.settings import make_cluster
from ascend_workbook.planning.rehearsal.times import estimate_one_collective, estimate_step, list_kernels
from ascend_workbook.planning.rehearsal.work import Collective, Copy, HostWait, Mark, Task, Wait, Work
from ascend_workbook.profiling import analyse
from tests.planning.rehearsal.made import MATMUL, REDUCE

CLUSTER = make_cluster("910B3", 8, None, None)
LAUNCH = int(estimate_launches(1).middle * 1000)


def spans_of(*tasks: Task) -> list[Span]:
    return run_clock({0: Work(tasks)}, CLUSTER, load_basis())[0]


def kernel_ns() -> int:
    (kernel,) = list_kernels(MATMUL)
    return int(estimate_kernel(kernel, CLUSTER.chip, load_basis()).middle * 1000)


def test_a_long_kernel_waits_for_the_one_before_it() -> None:
    first, second = spans_of(MATMUL, MATMUL)
    assert kernel_ns() > LAUNCH and (first.called_ns, first.start_ns) == (0, LAUNCH)
    assert second.called_ns == LAUNCH and second.start_ns == first.end_ns == LAUNCH + kernel_ns()


def test_the_host_waits_for_a_value_that_it_reads() -> None:
    first, read, second = spans_of(MATMUL, Copy(reads=True), MATMUL)
    assert read.start_ns == first.end_ns and read.end_ns == read.start_ns + READ_NS
    assert second.called_ns == read.end_ns
    _, write, after = spans_of(MATMUL, Copy(reads=False), MATMUL)
    assert after.called_ns == write.called_ns + LAUNCH


#: Longer than a kernel, on a stream of its own
LONG = replace(REDUCE, count=1 << 28, stream=3)
COLLECTIVE = int(estimate_one_collective(LONG, CLUSTER).middle * 1000)
#: Of a bucket of gradients: the collective waits for the kernels before it
BUCKET = (MATMUL, Mark(0, 1), Wait(3, 1), LONG, Mark(3, 2))


def test_a_collective_waits_for_the_kernels_that_it_was_told_to() -> None:
    first, exchange, second = spans_of(*BUCKET, MATMUL)
    assert exchange.start_ns == first.end_ns == LAUNCH + kernel_ns() and exchange.stream < 0
    assert exchange.end_ns - exchange.start_ns == COLLECTIVE > kernel_ns()
    assert second.start_ns == first.end_ns, "nothing was told to wait for it"
    _, _, early = spans_of(MATMUL, MATMUL, LONG)
    assert early.start_ns == 3 * LAUNCH, "nor was it told to wait"


def test_a_kernel_waits_for_a_collective_where_its_stream_was_told_to() -> None:
    first, exchange, second, update = spans_of(*BUCKET, MATMUL, Wait(0, 2), MATMUL)
    assert second.start_ns == first.end_ns
    assert update.start_ns == exchange.end_ns == LAUNCH + kernel_ns() + COLLECTIVE
    assert measure_exposed([first, exchange, second, update]) == COLLECTIVE - kernel_ns()


def test_an_event_stands_for_what_was_launched_before_it_alone() -> None:
    first, second, exchange = spans_of(MATMUL, Mark(0, 1), MATMUL, Wait(3, 1), LONG)
    assert exchange.start_ns == first.end_ns < second.end_ns
    (alone,) = spans_of(Wait(3, 9), LONG)
    assert alone.start_ns == LAUNCH, "an event of an earlier step has come"


@pytest.mark.parametrize(
    "wait, until", [(HostWait(0, 0), 1), (HostWait(3, 0), 2), (HostWait(-1, 0), 2), (HostWait(-1, 2), 2)]
)
def test_the_host_waits_for_a_stream_for_all_or_for_an_event(wait: HostWait, until: int) -> None:
    first, exchange, second = spans_of(*BUCKET, wait, MATMUL)
    assert second.called_ns == (first, exchange)[until - 1].end_ns


def test_a_collective_that_two_kernels_hide_holds_up_nothing() -> None:
    many = spans_of(*BUCKET, *(MATMUL,) * (COLLECTIVE // kernel_ns() + 2), Wait(0, 2), MATMUL)
    assert measure_exposed(many) == 0
    gap = [replace(many[1], start_ns=0, end_ns=100), replace(many[0], start_ns=10, end_ns=30)]
    assert (
        measure_exposed([*gap, replace(gap[1], start_ns=25, end_ns=40), replace(gap[1], start_ns=90, end_ns=200)]) == 60
    )


def test_what_is_exposed_makes_the_step() -> None:
    work = Work((*BUCKET, Wait(0, 2), MATMUL))
    alone = estimate_step(work, CLUSTER, load_basis())
    times = add_exposed(alone, work, CLUSTER, load_basis())
    assert alone.exposed is None and times.exposed is not None
    assert times.exposed.middle == pytest.approx(COLLECTIVE / 1000)
    assert times.step.middle == pytest.approx((LAUNCH + 2 * kernel_ns() + COLLECTIVE) / 1000)
    assert times.step.low == pytest.approx(times.compute.low + times.exposed.low)
    assert times.step.high == pytest.approx(times.compute.high + times.exposed.high)
    plain = Work((MATMUL, LONG))
    assert add_exposed(alone, plain, CLUSTER, load_basis()) is alone, "no order was recorded"


def test_a_sender_meets_its_receiver() -> None:
    send = Collective("hcom_send", "pipe", 1 << 20, "bfp16", 1 << 21, 0, 1, 3, 0, (1,))
    take = Collective("hcom_receive", "pipe", 1 << 20, "bfp16", 0, 1 << 21, 1, 3, 1, (0,))
    works = {0: Work((MATMUL, Mark(0, 1), Wait(3, 1), send)), 1: Work((take, Mark(3, 1), Wait(0, 1), MATMUL))}
    spans = run_clock(works, CLUSTER, load_basis())
    sent, (received, second) = spans[0][-1], spans[1]
    assert received.start_ns == LAUNCH and received.end_ns == sent.end_ns > sent.start_ns == spans[0][0].end_ns
    assert second.start_ns == received.end_ns


def test_ranks_meet_at_a_collective() -> None:
    reduce = (Mark(0, 1), Wait(3, 1), replace(REDUCE, stream=3))
    works = {0: Work((MATMUL, *reduce)), 1: Work((MATMUL, MATMUL, MATMUL, *reduce))}
    spans = run_clock(works, CLUSTER, load_basis())
    fast, slow = spans[0][-1], spans[1][-1]
    assert fast.start_ns < slow.start_ns and fast.end_ns == slow.end_ns


def test_each_call_of_the_host_stands_once() -> None:
    spans = spans_of(MATMUL, MATMUL, Copy(reads=False))
    assert [called for _, called, _ in describe_calls(spans)] == [0, LAUNCH, 2 * LAUNCH]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    works = {0: Work((MATMUL,) * 20 + (REDUCE, Copy(reads=True)))}
    return write_profile(works, CLUSTER, load_basis(), tmp_path_factory.mktemp("estimated"))


def test_analyse_reads_it_and_says_whose_times_they_are(folder: Path) -> None:
    report = analyse(folder)
    assert report.estimated and report.simulated and report.status <= Status.NOT_LOOKED
    assert report.headline is not None and report.headline.key.startswith("PRF310.estimated")
    assert "step_ms" not in json.dumps(report.text("en")) and "Estimated" in report.text("en")
    parts = {part.verb: part for part in report.parts}
    steps = parts["step_times"].table
    assert steps is not None and len(steps.rows) == STEPS
    shares = parts["time_by_kind"].facts["parts_ns"]
    assert shares["computing"] == pytest.approx(20 * kernel_ns(), rel=1e-3)
    operators = parts["top_operators"].table
    assert operators is not None and operators.rows[0][0] == "aten::mm"


def test_what_needs_measured_times_is_not_judged(folder: Path) -> None:
    findings = [finding for part in analyse(folder).parts for finding in part.findings]
    told = {finding.rule: finding for finding in findings}
    assert told["PRF311"].key == "profiling.on_estimates" and told["PRF311"].status is Status.NOT_LOOKED
    assert told["PRF331"].status is not Status.NOT_LOOKED
    assert all(finding.status <= Status.NOT_LOOKED for finding in findings), "an estimate alone is no verdict"


def test_an_earlier_profile_is_replaced(folder: Path) -> None:
    write_profile({3: Work((MATMUL,))}, CLUSTER, load_basis(), folder)
    assert [path.name for path in folder.glob("rank*")] == ["rank3_estimated_ascend_pt"]
    write_profile(
        {0: Work((MATMUL, Collective("hcom_barrier", "g", 0, "N/A", 0, 0, 7)))}, CLUSTER, load_basis(), folder
    )


def test_a_real_profile_is_never_called_estimated(tmp_path: Path) -> None:
    record = tmp_path / "collected.json"
    record.write_text('{"tier": "npu"}')
    for _ in range(2):
        with pytest.raises(WorkbookError, match="collected"):
            write_profile({0: Work((MATMUL,))}, CLUSTER, load_basis(), tmp_path)
        assert [path.name for path in tmp_path.iterdir()] in (["collected.json"], ["rank0_1_ascend_pt"])
        record.unlink(missing_ok=True)
        (tmp_path / "rank0_1_ascend_pt").mkdir(exist_ok=True)
