"""What the sampler beside the profiler sees of a thread, and what a trace is told of it."""

from __future__ import annotations

import gc
import hashlib
import json
import platform
import profile
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ascend_workbook.profiling.child import line_sampler, queues, watching_tools
from ascend_workbook.profiling.child.call_notes import _holds_mask
from ascend_workbook.profiling.child.code_places import find_line
from ascend_workbook.profiling.child.line_sampler import LineSampler
from ascend_workbook.profiling.facts import load_profile
from ascend_workbook.profiling.intervals import Intervals
from ascend_workbook.profiling.readers import lines
from ascend_workbook.profiling.readers.lines import add_sampled_lines, sampled_spans, sampled_stacks
from ascend_workbook.profiling.trace import Event, Trace, build_trace

MS = 1_000_000


def rest_long() -> None:
    time.sleep(0.15)


def compute_long() -> int:
    end, number = time.perf_counter() + 0.15, 0
    while time.perf_counter() < end:
        number += 1
    return number


def compute_much() -> int:
    number = 0
    while time.thread_time() < 0.1:
        number += 1
    return number


def spent_in(content: dict[str, object]) -> dict[str, float]:
    """Return the milliseconds that each frame of this file was seen at, by function and line."""
    spent: dict[str, float] = {}
    for name, begin, end in lines._find_spans(content):
        if "test_line_sampler.py(" in name:
            spent[name.rpartition("/")[2]] = spent.get(name.rpartition("/")[2], 0.0) + (end - begin) / MS
    return spent


def test_lines_that_rest_and_lines_that_compute_are_both_seen(tmp_path: Path) -> None:
    sampler = LineSampler()
    sampler.start()
    rest_long()
    compute_long()
    gc.collect()
    sampler.stop()
    path = tmp_path / "rank0.lines.json"
    sampler.write_samples(path)
    content = json.loads(path.read_text())
    spent = spent_in(content)
    resting = sum(ms for name, ms in spent.items() if name.endswith(": rest_long"))
    computing = sum(ms for name, ms in spent.items() if name.endswith(": compute_long"))
    assert 100 < resting < 400, "a sleeping call"
    assert 100 < computing < 400, "a loop that never lets go of the interpreter by itself"
    line = rest_long.__code__.co_firstlineno + 1
    assert any(name == f"test_line_sampler.py({line}): rest_long" for name in spent), "the line of the call"
    assert any(generation == 2 for _, _, generation in content["collections"])
    assert not any("line_sampler.py" in file and "tests" not in file for file, _, _ in content["frames"])


@pytest.mark.parametrize(
    ("dtype", "device", "noted"), [("bool", "meta", True), ("bool", "cpu", False), ("int64", "meta", False)]
)
def test_an_index_is_noted_that_is_a_mask_on_a_device(dtype: str, device: str, noted: bool) -> None:
    torch = pytest.importorskip("torch")
    index = torch.ones(2, dtype=getattr(torch, dtype), device=device)
    assert (_holds_mask(index), _holds_mask((0, index)), _holds_mask((0, None, 1))) == (noted, noted, False)


def test_calls_that_wait_have_their_lines_and_are_put_back(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    before = torch.Tensor.item, torch.Tensor.__dict__.get("item")
    sampler = LineSampler()
    sampler.start()
    value = torch.ones(1).item()
    sampler.stop()
    assert value == 1.0 and (torch.Tensor.item, torch.Tensor.__dict__.get("item")) == before
    path = tmp_path / "rank0.lines.json"
    sampler.write_samples(path)
    content = json.loads(path.read_text())
    line = test_calls_that_wait_have_their_lines_and_are_put_back.__code__.co_firstlineno + 5
    calls = [(*content["frames"][frame][1:], name) for _, _, frame, name in content["calls"]]
    assert (line, "test_calls_that_wait_have_their_lines_and_are_put_back", "Tensor.item") in calls


def noted_calls(sampler: LineSampler, path: Path) -> list[tuple[str, int, str, str]]:
    """Return (file, line, function, call) of each call that was noted."""
    sampler.write_samples(path)
    content = json.loads(path.read_text())
    return [(*content["frames"][frame], name) for _, _, frame, name in content["calls"]]


def test_waiting_for_the_device_is_noted_and_what_stays_on_the_host_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    sampler = LineSampler()
    sampler.start()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.ones(1).to("cpu")
    torch.ones(1, device="meta").to("meta")
    sampler.stop()
    names = [name for _, _, _, name in noted_calls(sampler, tmp_path / "rank0.lines.json")]
    assert names == ["cuda.synchronize", "cuda.empty_cache"]


def test_a_call_from_within_a_package_has_the_line_of_the_script(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    package: dict[str, Any] = {}
    exec(compile("def read(x):\n    return x.item()\n", "/env/site-packages/some/module.py", "exec"), package)
    sampler = LineSampler()
    sampler.start()
    package["read"](torch.ones(1))
    sampler.stop()
    line = test_a_call_from_within_a_package_has_the_line_of_the_script.__code__.co_firstlineno + 6
    calls = noted_calls(sampler, tmp_path / "rank0.lines.json")
    assert [(line, "Tensor.item")] == [(at, name) for _, at, _, name in calls]


def test_what_a_thread_ran_and_waited_for_only_grows() -> None:
    sampler = LineSampler()
    sampler.start()
    compute_long()
    sampler.stop()
    at, ran, waited, others, held, others_ran, asleep = np.array(sampler.delays).T
    assert at.size > 20 and (np.diff(at) > 0).all() and (held >= 0).all()
    assert all((np.diff(column) >= 0).all() for column in (ran, waited, others, others_ran))
    assert 10 * MS < ran[-1] - ran[0] <= at[-1] - at[0] and not asleep.any()


def test_a_thread_that_sleeps_is_told_from_one_that_waits_for_another() -> None:
    if platform.machine() not in queues.SLEEPS or not Path("/proc/self/syscall").is_file():
        pytest.skip("the system does not tell in which call a thread is")
    lock = threading.Lock()
    lock.acquire()
    asleep = []
    for rest in (time.sleep, lambda seconds: lock.acquire(timeout=seconds)):
        sampler = LineSampler()
        sampler.start()
        rest(0.1)
        sampler.stop()
        asleep.append(sum(row[6] for row in sampler.delays) / len(sampler.delays))
    assert asleep[0] > 0.8 and asleep[1] == 0


def test_while_another_runs_or_the_thread_sleeps_nothing_is_lost() -> None:
    rows = [
        (0, 0, 0, 0, 0, 0, 0),
        (10, 0, 0, 10, 0, 10, 0),
        (20, 0, 0, 20, 0, 13, 0),
        (30, 0, 0, 30, 0, 13, 1),
        (40, 0, 0, 40, 5, 13, 0),
        (50, 1, 2, 40, 0, 13, 0),
    ]
    lost = lines.find_lost_times([tuple(value * MS if value > 1 else value for value in row) for row in rows])
    pieces = list(zip((lost.start_ns // MS).tolist(), (lost.end_ns // MS).tolist()))
    assert pieces == [(13, 20), (48, 50)]


def test_lost_is_what_a_thread_waited_for_a_core_and_what_it_rested_while_another_did() -> None:
    rows = [
        (0, 0, 0, 0, 0),
        (10, 10, 0, 0, 9),
        (20, 14, 6, 0, 0),
        (30, 14, 6, 7, 0),
        (40, 22, 6, 9, 0),
        (50, 23, 6, 9, 3),
    ]
    lost = lines.find_lost_times([tuple(value * MS for value in row) for row in rows])
    pieces = list(zip((lost.start_ns // MS).tolist(), (lost.end_ns // MS).tolist()))
    assert pieces == [(14, 20), (23, 30), (38, 40), (47, 50)], "what ran lost nothing, however long it was looked at"
    assert not lines.find_lost_times(()).length_ns and not lines.find_lost_times(rows[:1]).length_ns


def test_a_trace_without_lost_time_is_so_much_shorter() -> None:
    events = [Event("ProfilerStep#1", "step", "Python 7", 0, 100 * MS)]
    events.append(Event("aten::mm", "host_op", "Python 7", 10 * MS, 10 * MS))
    events.append(Event("k", "compute", "Ascend Hardware 1", 40 * MS, 5 * MS, launch_ns=15 * MS))
    whole = build_trace(events, source="made", dialect="ascend")
    lost = Intervals.union_of(np.array([12, 30]) * MS, np.array([14, 35]) * MS)
    calm = lines.without(whole, lost)
    assert (calm.start_ns // MS).tolist() == [0, 10, 33] and (calm.duration_ns // MS).tolist() == [93, 8, 5]
    assert calm.launch_ns[2] == 13 * MS and calm.launch_ns[1] == whole.launch_ns[1]
    assert [(step.start_ns, step.end_ns) for step in calm.steps] == [(0, 93 * MS)]


def test_the_line_of_an_instruction_is_the_calls() -> None:
    code = rest_long.__code__
    last = len(code.co_code) - 2
    assert find_line(code, last) == code.co_firstlineno + 1
    assert find_line(code, 0) in (code.co_firstlineno, code.co_firstlineno + 1)


def make_trace() -> Trace:
    events = [Event("ProfilerStep#1", "step", "Python 7", 0, 100 * MS)]
    events.append(Event("aten::mm", "host_op", "Python 7", 10 * MS, MS))
    return build_trace(events, source="made", dialect="ascend")


def make_samples(folder: Path, **changes: object) -> Path:
    """Write samples beside a profile: main at line 3 for a while, calling save at its second sample."""
    content: dict[str, object] = {
        "version": 1,
        "pid": 7,
        "tid": 7,
        "interval_ns": MS,
        "frames": [["/a/train.py", 3, "main"], ["/a/io.py", 9, "save"], ["/a/train.py", 4, "main"]],
        "stacks": [[0], [0, 1], [2]],
        "samples": [[10 * MS, 0], [11 * MS, 1], [30 * MS, 1], [31 * MS, 2]],
        "collections": [[40 * MS, 5 * MS, 2]],
        "calls": [[50 * MS, 2 * MS, 0], [60 * MS, 2 * MS, 0, "Tensor.item"]],
    }
    (folder / "rank0.lines.json").write_text(json.dumps({**content, **changes}))
    return folder / "rank0_1_ascend_pt"


def test_samples_become_frames_that_nest(tmp_path: Path) -> None:
    trace = add_sampled_lines(make_trace(), make_samples(tmp_path))
    rows = np.flatnonzero(trace.where(("python",)))
    events = [
        (trace.names[trace.name[row]], int(trace.start_ns[row]), int(trace.start_ns[row] + trace.duration_ns[row]))
        for row in rows.tolist()
    ]
    half = MS // 2
    assert events == [
        ("/a/train.py(3): main", 10 * MS - half, 30 * MS + half),
        ("/a/io.py(9): save", 10 * MS + half, 30 * MS + half),
        ("/a/train.py(4): main", 30 * MS + half, 31 * MS + half),
        ("GC", 40 * MS, 45 * MS),
        ("/a/train.py(3): main", 50 * MS, 52 * MS),
        ("/a/train.py(3): main", 60 * MS, 62 * MS),
        ("Tensor.item", 60 * MS, 62 * MS),
    ]
    assert {trace.lanes[trace.lane[row]] for row in rows} == {"Python 7"}, "on the thread that was sampled"
    assert set(trace.step[rows].tolist()) == {0}
    assert (sampled_stacks(trace), sampled_spans(trace)) == (4, 7)


@pytest.mark.parametrize(
    "changes", [{"stacks": [[9]]}, {"samples": "x"}, {"frames": 4}, {"tid": None}, {"collections": [[1]]}]
)
def test_a_damaged_file_is_told_of_and_takes_nothing_along(tmp_path: Path, changes: dict[str, object]) -> None:
    trace = add_sampled_lines(make_trace(), make_samples(tmp_path, **changes))
    assert len(trace) == 2 and sampled_stacks(trace) == 0
    assert [remark.key for remark in trace.remarks] == ["profiling.unreadable"]


def test_samples_outside_the_trace_are_left_out(tmp_path: Path) -> None:
    late = make_samples(tmp_path, samples=[[500 * MS, 0], [501 * MS, 0]], collections=[], calls=[])
    assert len(add_sampled_lines(make_trace(), late)) == 2


def test_a_profile_without_samples_is_as_it_was(tmp_path: Path) -> None:
    trace = make_trace()
    assert add_sampled_lines(trace, tmp_path / "rank0_1_ascend_pt") is trace
    assert add_sampled_lines(trace, tmp_path / "some.json") is trace


def test_a_profile_is_read_with_its_samples(tmp_path: Path) -> None:
    make_samples(tmp_path, delays=[[10 * MS, 0, 0, 0, 0], [40 * MS, 10 * MS, 20 * MS, 0, 0]])
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 10_000, "dur": 1000},
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 7, "tid": 7, "ts": 0, "dur": 100_000},
    ]
    path = tmp_path / "rank0.pt.trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    loaded = load_profile(path)
    assert sampled_stacks(loaded.trace) == 4
    assert (loaded.breakdown.step_ns, loaded.calm.breakdown.step_ns) == (100 * MS, 80 * MS)


def test_calls_of_modules_have_their_lines_one_name_a_module(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    before = torch.nn.Module.__call__

    class Own(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, value: Any) -> Any:
            return value

    first, chain = torch.nn.Identity(), torch.nn.Sequential(Own(), torch.nn.Identity())
    sampler = LineSampler()
    sampler.start()
    first(1), chain(2), first(3)
    sampler.stop()
    assert torch.nn.Module.__call__ is before
    calls = noted_calls(sampler, tmp_path / "rank0.lines.json")
    assert [name for _, _, _, name in calls] == ["module#0", "module#1 own", "module#2", "module#0"], "as they end"
    assert {function for _, _, function, _ in calls} == {"test_calls_of_modules_have_their_lines_one_name_a_module"}


def test_steps_that_were_not_recorded_are_told_without_what_they_waited(tmp_path: Path) -> None:
    sampler = LineSampler()
    sampler.start()
    sampler.stop()
    folder = tmp_path / "rank0_1_ascend_pt"
    folder.mkdir()
    assert lines.read_calm_step(folder) == (0, 0)
    sampler.write_samples(tmp_path / "rank0.lines.json", [(9_000, 0), (8_000, 3_000), (7_000, 500), (4_000, 9_000)])
    assert lines.read_calm_step(folder) == (6_500, 3)
    seen = json.loads((tmp_path / "rank0.lines.json").read_text())
    sampler.write_samples(tmp_path / "rank0.lines.json", [(9_000, 0)])
    again = json.loads((tmp_path / "rank0.lines.json").read_text())
    assert again == {**seen, "calm_steps": [[9_000, 0]]}, "what was seen until the first time is written"
    (tmp_path / "rank0.lines.json").write_text("{")
    assert lines.read_calm_step(folder) == (0, 0)


def train_two(torch: Any, shares: bool) -> list[tuple[int, str, str]]:
    """Train two layers behind each other, the second by a pass that goes through the first, or does not: what was
    noted of emptying, as (line, function, call)."""
    first, second = torch.nn.Linear(3, 5), torch.nn.Linear(5, 1)
    updates = [torch.optim.SGD(layer.parameters(), lr=0.1) for layer in (first, second)]
    sampler = LineSampler()
    sampler.start()
    for _ in range(3):
        middle = first(torch.ones(2, 3))
        updates[1].zero_grad()
        second(middle if shares else middle.detach()).mean().backward(retain_graph=True)
        updates[1].step()
        updates[0].zero_grad()
        middle.mean().backward()
        updates[0].step()
    sampler.stop()
    return [
        (*name_at(code, at), call) for _, _, code, at, call, *_ in sampler._notes.calls if call.startswith("unused")
    ]


def name_at(code: Any, at: int) -> tuple[int, str]:
    return find_line(code, at), code.co_name


def test_gradients_that_are_emptied_before_an_update_used_them_are_noted() -> None:
    torch = pytest.importorskip("torch")
    line = train_two.__code__.co_firstlineno + 12
    assert train_two(torch, shares=True) == [(line, "train_two", "unused gradients: [5,3] [5]")] * 2
    assert not train_two(torch, shares=False)
    assert not hasattr(torch.nn.Module.zero_grad, "__wrapped__"), "put back"


def test_gradients_that_no_update_uses_are_listed(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    base, head = torch.nn.Linear(3, 5), torch.nn.Linear(5, 1)
    update = torch.optim.SGD(head.parameters(), lr=0.1)
    sampler = LineSampler()
    sampler.start()
    for _ in range(2):
        head(base(torch.ones(2, 3))).mean().backward()
        update.step()
    sampler.stop()
    sampler.write_samples(tmp_path / "rank0.lines.json")
    content = json.loads((tmp_path / "rank0.lines.json").read_text())
    assert content["never_used"] == "[5,3] [5]"


def test_modules_on_the_same_tensor_are_noted_as_such() -> None:
    torch = pytest.importorskip("torch")
    heads, given = [torch.nn.Linear(3, 2) for _ in range(3)], torch.ones(2, 3)
    sampler = LineSampler()
    sampler.start()
    for head in heads:
        head(given)
    for head in heads:
        head(given + 1)
    sampler.stop()
    noted = [names for _, _, _, _, *names in sampler._notes.calls]
    same = [len(names) == 2 for names in noted if names[0].startswith("module#")]
    assert same == [False, True, True, False, False, False]


@pytest.fixture
def noted_tools() -> Iterator[None]:
    line_sampler.note_tools()
    yield
    line_sampler.forget_tools()


def test_what_watches_python_is_listed_with_the_line_that_began_it(noted_tools: None) -> None:
    assert not [tool for tool, *_ in watching_tools.list_tools() if tool == "tracemalloc"]
    tracemalloc.start()
    try:
        told = [rest for tool, *rest in watching_tools.list_tools() if tool == "tracemalloc"]
    finally:
        tracemalloc.stop()
    here = test_what_watches_python_is_listed_with_the_line_that_began_it.__code__
    assert told == [[here.co_filename, here.co_firstlineno + 2, here.co_name]]


def test_a_script_that_uses_pythons_own_profiler_runs_as_before(noted_tools: None) -> None:
    before, profiler = sys.getprofile(), profile.Profile()
    try:
        assert profiler.runcall(sum, range(10)) == 45
    finally:
        sys.setprofile(before)


def test_what_was_put_around_tools_is_taken_back() -> None:
    dispatch = pytest.importorskip("torch.utils._python_dispatch").TorchDispatchMode
    before = tracemalloc.start, dispatch.__enter__, dispatch.__exit__
    line_sampler.note_tools()
    assert tracemalloc.start is not before[0] and dispatch.__enter__ is not before[1]
    line_sampler.forget_tools()
    assert (tracemalloc.start, dispatch.__enter__, dispatch.__exit__) == before


def test_modes_that_the_script_is_in_while_it_is_sampled_are_written(noted_tools: None, tmp_path: Path) -> None:
    dispatching = pytest.importorskip("torch.utils._python_dispatch")

    class Early(dispatching.TorchDispatchMode):  # type: ignore[misc, name-defined]
        """Entered and left before."""

    class Around(Early):
        """Entered before, and once more within."""

    class Late(Early):
        """Entered while it is sampled."""

    sampler = LineSampler()
    with Early():
        pass
    with Around() as around:
        with around:
            pass
        sampler.start()
        with Late():
            pass
        sampler.stop()
    with Early():
        pass
    sampler.write_samples(tmp_path / "rank0.lines.json")
    modes = json.loads((tmp_path / "rank0.lines.json").read_text())["modes"]
    line = test_modes_that_the_script_is_in_while_it_is_sampled_are_written.__code__.co_firstlineno
    expected = [("Around", line + 15), ("Late", line + 19)]
    assert [(name, at) for name, _, at, *_ in modes] == expected
    assert {file for *_, file in modes} == {dispatching.__file__}, "where their function is"
    assert not watching_tools._modes


def test_what_watches_and_what_is_never_used_comes_with_the_trace(tmp_path: Path) -> None:
    tools = [["tracemalloc", "/a/train.py", 33, "main"], ["sys.settrace", "", 0, ""]]
    trace = add_sampled_lines(make_trace(), make_samples(tmp_path, tools=tools, never_used="[4] [4,4]"))
    assert trace.about[lines.WATCHED] == [("tracemalloc", "/a/train.py(33): main"), ("sys.settrace", "")]
    assert trace.about[lines.NEVER_USED] == "[4] [4,4]"


def test_another_thread_of_the_script_that_computes_is_seen_and_one_that_rests_is_not() -> None:
    sampler = LineSampler()
    sampler.start()
    threads = [threading.Thread(target=target) for target in (compute_much, rest_long)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sampler.stop()
    seen: dict[str, int] = {}
    for (code, _), count in sampler._others.items():
        seen[code.co_name] = seen.get(code.co_name, 0) + count
    assert seen.get("compute_much", 0) >= 3 and seen.get("rest_long", 0) <= 1


def test_a_thread_without_code_of_the_scripts_is_none_of_it() -> None:
    sampler = LineSampler()
    sampler.start()
    thread = threading.Thread(target=hashlib.pbkdf2_hmac, args=("sha256", b"word", b"salt", 400_000))
    thread.start()
    thread.join()
    sampler.stop()
    assert len(sampler.delays) > 20 and not [code for code, _ in sampler._others if "threading" in code.co_filename]


def test_threads_that_end_meanwhile_end_no_sampling(tmp_path: Path) -> None:
    sampler = LineSampler()
    sampler.start()
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        for _ in range(20):
            threading.Thread(target=time.sleep, args=(0.0005,)).start()
    alive = sampler._thread is not None and sampler._thread.is_alive()
    sampler.stop()
    sampler.write_samples(tmp_path / "rank0.lines.json")
    assert alive and json.loads((tmp_path / "rank0.lines.json").read_text())["ended_early"] == ""


def test_a_thread_that_has_just_ended_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = SimpleNamespace(ident=1, native_id=2**30)  # the system has no thread of this number
    monkeypatch.setitem(threading._active, 1, ended)  # type: ignore[attr-defined]
    sampler = LineSampler()
    sampler._keep_others({1: sys._getframe()}, 0)
    assert not sampler._ran and not sampler._others
    ended.native_id = threading.get_native_id()
    sampler._keep_others({1: sys._getframe()}, 0)
    assert list(sampler._ran) == [ended.native_id]


class Frame:
    """A frame that notes whether a collection might begin while the one around it is made."""

    f_lasti = 0

    def __init__(self, depth: int, seen: list[bool]) -> None:
        self.f_code, self._depth, self._seen = compile("", f"/env/site-packages/{depth}.py", "exec"), depth, seen

    @property
    def f_back(self) -> Frame | None:
        self._seen.append(gc.isenabled())
        return Frame(self._depth - 1, self._seen) if self._depth else None


@pytest.mark.parametrize("collects", [True, False])
def test_no_collection_begins_while_the_frames_of_another_thread_are_read(collects: bool) -> None:
    sampler, stacks, others = LineSampler(), list[bool](), list[bool]()
    if not collects:
        gc.disable()
    try:
        sampler._keep_stack(Frame(3, stacks))  # type: ignore[arg-type]
        sampler._keep_others({1: Frame(3, others)}, 0)  # type: ignore[dict-item]
        assert gc.isenabled() is collects
    finally:
        gc.enable()
    assert stacks == others == [False] * 4 and len(sampler._samples) == 1


def test_sampling_that_ends_early_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(queues: queues.Queues) -> None:
        raise ProcessLookupError(3, "No such process")

    sampler = LineSampler()
    monkeypatch.setattr(queues.Queues, "read_usage", fail)
    sampler.start()
    rest_long()
    sampler.stop()
    sampler.write_samples(tmp_path / "rank0.lines.json")
    ended = json.loads((tmp_path / "rank0.lines.json").read_text())["ended_early"]
    assert ended == "ProcessLookupError: [Errno 3] No such process"
    trace = add_sampled_lines(make_trace(), make_samples(tmp_path, ended_early=ended))
    (remark,) = trace.remarks
    assert (remark.key, remark.args["error"]) == ("profiling.sampling_ended", ended)
    assert sampled_stacks(trace) == 4, "what came is kept"


def test_parameters_that_are_updated_by_hand_are_used() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    base, middle, head = (torch.nn.Linear(*sizes, bias=False) for sizes in ((3, 5), (5, 4), (4, 1)))
    update = torch.optim.SGD(head.parameters(), lr=0.1)
    sampler = LineSampler()
    sampler.start()
    for _ in range(2):
        head(middle(base(torch.ones(2, 3)))).mean().backward()
        update.step()
        with torch.no_grad():
            base.weight -= 0.1 * base.weight.grad
    sampler.stop()
    assert sampler._notes.list_never_used() == "[4,5]"


def test_functions_with_gradients_of_their_own_have_the_line_that_applies_them() -> None:
    torch = pytest.importorskip("torch")

    class Twice(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return 2 * x

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return 2 * gradient

    before = vars(torch.autograd.Function)["apply"]
    sampler = LineSampler()
    sampler.start()
    result = Twice.apply(torch.ones(2, requires_grad=True))
    sampler.stop()
    assert result.tolist() == [2.0, 2.0] and vars(torch.autograd.Function)["apply"] is before
    line = test_functions_with_gradients_of_their_own_have_the_line_that_applies_them.__code__.co_firstlineno + 15
    noted = [(find_line(code, at), call) for _, _, code, at, call, *_ in sampler._notes.calls]
    assert noted == [(line, "autograd.Function")]


def test_a_module_that_is_called_again_on_the_same_tensor_is_noted() -> None:
    torch = pytest.importorskip("torch")
    model, other, x, y = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2), torch.ones(1, 2), torch.ones(1, 2)
    sampler = LineSampler()
    sampler.start()
    for module, tensor in ((model, x), (other, x), (model, y), (model, x)):
        module(tensor)
    x += 1
    model(x)
    sampler.stop()
    again = ["module again on the same input" in names for _, _, _, _, *names in sampler._notes.calls]
    assert again == [False, False, False, True, False], "another module, another tensor, and one that was written to"


@pytest.mark.parametrize("dropped", [0.0, 0.5])
def test_one_with_the_same_weights_and_nothing_left_to_chance_has_the_same_result(dropped: float) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(dropped))
    x = torch.ones(1, 2)
    sampler = LineSampler()
    sampler.start()
    for _ in range(4):
        model(x)
    with torch.no_grad():
        model[0].weight += 1
    model(x)
    model.eval()
    for _ in range(3):
        model(x)
    sampler.stop()
    same = ["module again with the same result" in names for _, _, _, _, *names in sampler._notes.calls]
    assert same == [False, False, *[not dropped] * 2, *[False] * 3, True], "two calls of one mode tell the weights"


def test_a_module_that_does_not_like_to_be_asked_is_called_all_the_same() -> None:
    torch = pytest.importorskip("torch")

    class Shy(torch.nn.Module):  # type: ignore[misc, name-defined]
        @property
        def p(self) -> float:
            raise RuntimeError("do not ask")

        def forward(self, x: Any) -> Any:
            return x + 1

    model, x = Shy(), torch.ones(1)
    sampler = LineSampler()
    sampler.start()
    results = [model(*args, **kwargs).item() for args, kwargs in (((x,), {}), ((x,), {}), ((x,), {}), ((), {"x": x}))]
    sampler.stop()
    assert results == [2.0] * 4


def test_a_lazy_module_that_is_first_called_while_it_is_sampled_is_called_as_before() -> None:
    torch = pytest.importorskip("torch")

    class Late(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.here, self.unused = torch.nn.LazyLinear(1), torch.nn.LazyLinear(1)

        def forward(self, x: Any) -> Any:
            return self.here(x)

    model, base, x = Late(), torch.nn.Linear(2, 2), torch.ones(1, 2)
    update = torch.optim.SGD(base.parameters(), lr=0.1)
    sampler = LineSampler()
    sampler.start()
    model(base(x)).sum().backward()
    update.step()
    sampler.stop()
    assert model.here.weight.shape == (1, 2) and sampler._notes.list_never_used() == ""
    assert len(sampler._notes.calls) == 4, "three modules and the backward pass"


def test_an_index_of_numpy_is_asked_for_no_device() -> None:
    assert not _holds_mask(SimpleNamespace(dtype=np.dtype(bool)))


def test_one_after_an_update_in_another_mode_or_with_more_given_is_no_call_again() -> None:
    torch = pytest.importorskip("torch")
    model, x = torch.nn.Bilinear(2, 2, 1), torch.ones(1, 2)
    plain = torch.nn.Linear(2, 1)
    update = torch.optim.SGD(plain.parameters(), lr=0.1)
    sampler = LineSampler()
    sampler.start()
    model(x, x)
    model(x, x + 1)
    plain(x).sum().backward()
    update.step()
    plain(x)
    plain.eval()
    plain(x)
    plain(x)
    sampler.stop()
    noted = [names for *_, names in (([*call[4:]],) for call in sampler._notes.calls) if "module#" in names[0]]
    assert ["module again on the same input" in names for names in noted] == [False] * 5 + [True]


def test_a_script_goes_on_though_a_finalizer_keeps_the_sampling_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finalizer runs in the thread that collects, which may be the one that samples."""
    kept, go_on = threading.Event(), threading.Event()

    def keep(self: LineSampler) -> None:
        kept.set()
        go_on.wait(30)

    monkeypatch.setattr(LineSampler, "_sample", keep)
    monkeypatch.setattr(line_sampler, "LONGEST_END_S", 0.05)
    sampler = LineSampler()
    sampler.start()
    assert kept.wait(10)
    began = time.monotonic()
    sampler.stop()
    assert time.monotonic() - began < 20 and sampler._thread is None
    go_on.set()
