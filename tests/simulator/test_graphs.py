"""Graphs of captured streams: what runs again gives what is computed without; what no graph holds is refused. 60 s."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

CHILDREN = Path(__file__).parent / "children"
BEGIN = """
import torch, torch_npu
x, g = torch.ones(3).npu(), torch.npu.NPUGraph()
"""


def run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], env=env, capture_output=True, text=True, timeout=300, check=False)


def test_networks_train_from_a_graph_as_without(simulator_env: dict[str, str]) -> None:
    """Every loss and every weight, to the last bit, random numbers and running statistics included."""
    done = run([str(CHILDREN / "graphs.py")], simulator_env)
    assert done.returncode == 0, done.stderr[-3000:]
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len({each["name"] for each in told}) == 13 and len(told) == 15
    for each in told:
        plain, replayed = each["losses"]
        assert plain == replayed and len(set(plain)) == 6 and each["weights"], each


FORBIDDEN = {
    "(x * 2).sum().item()": "107027",
    "x.nonzero()": "107027",
    "x[x > 0]": "107027",
    "x[x > 0] = 0": "107027",
    "torch.histc(x, 3)": "107027",
    "x.cpu()": "107027",
    "x.copy_(torch.zeros(3))": "107027",
    "torch.npu.current_stream().synchronize()": "107027",
    "torch.npu.synchronize()": "107030",
    "event.synchronize()": "107028",
    "other.wait_stream(own); torch.npu.set_stream(other); y = x + 1; torch.npu.set_stream(own)": "107025",
    "torch.npu.current_stream().wait_event(outside)": "was not captured",
}


def test_what_no_graph_can_hold_is_refused(simulator_env: dict[str, str]) -> None:
    code = f"""
import json, torch, torch_npu
x, other, outside = torch.ones(3).npu(), torch.npu.Stream(), torch.npu.Event()
outside.record(other)
for call in {list(FORBIDDEN)!r}:
    g, own, event, said = torch.npu.NPUGraph(), torch.npu.Stream(), torch.npu.Event(), ""
    try:
        with torch.npu.graph(g, stream=own):
            event.record()
            exec(call)
    except RuntimeError as error:
        said = str(error.__context__ or error)
    print(json.dumps([call, said]))
    torch.npu.set_stream(torch.npu.default_stream())
"""
    done = run(["-c", code], simulator_env)
    said = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
    assert said.keys() == FORBIDDEN.keys(), done.stderr[-2000:]
    for call, code in FORBIDDEN.items():
        assert code in said[call] and "[simulated NPU]" in said[call], (call, said[call])


def test_streams_join_a_capture_and_pinned_memory_is_read_anew(simulator_env: dict[str, str]) -> None:
    code = f"""{BEGIN}
host, back, side = torch.ones(3).pin_memory(), torch.zeros(3).pin_memory(), torch.npu.Stream()
with torch.npu.graph(g):
    x.copy_(host, non_blocking=True)
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        tripled = x * 3
    torch.npu.current_stream().wait_stream(side)
    result = tripled + 1
    x.add_(1)
    back.copy_(result, non_blocking=True)
assert x.tolist() == [1, 1, 1] and back.tolist() == [0, 0, 0] and bool(result.isnan().all())
for value in (2.0, 5.0):
    host.fill_(value)
    g.replay()
    torch.npu.synchronize()
    assert result.tolist() == back.tolist() == [3 * value + 1] * 3 and x.tolist() == [value + 1] * 3
g.reset()
"""
    done = run(["-c", code], simulator_env)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_group_of_tasks_is_replaced(simulator_env: dict[str, str]) -> None:
    """As torch_npu does for an attention whose lengths change."""
    code = f"""{BEGIN}
from torch_npu import _C
out = torch.zeros(3).npu()
with torch.npu.graph(g):
    _C._graph_task_group_begin(torch.npu.current_stream())
    torch.mul(x, 2, out=out)
    group = _C._graph_task_group_end(torch.npu.current_stream())
    result = out + 1
g.replay()
assert result.tolist() == [3, 3, 3]
side = torch.npu.Stream()
with torch.npu.stream(side):
    _C._graph_task_update_begin(side, group)
    torch.mul(x, 7, out=out)
    _C._graph_task_update_end(side)
assert out.tolist() == [2, 2, 2], "an update computes nothing"
g.replay()
assert result.tolist() == [8, 8, 8]
"""
    done = run(["-c", code], simulator_env)
    assert done.returncode == 0, done.stderr[-2000:]


def test_memory_that_is_gone_is_an_error(simulator_env: dict[str, str]) -> None:
    """A real NPU may end with an AI-core exception, or read what lies there now."""
    code = f"""{BEGIN}
large = torch.ones(64 << 20).npu()
with torch.npu.graph(g):
    result = large * 2
del large
torch.npu.empty_cache()
try:
    g.replay()
except RuntimeError as error:
    print(error)
"""
    done = run(["-c", code], simulator_env)
    assert "507015" in done.stdout and "given back" in done.stdout, done.stdout + done.stderr[-2000:]


def test_collectives_run_from_a_graph(simulator_env: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "ranks.py"
    script.write_text(
        """
import os, torch, torch_npu, torch.distributed as dist
torch.npu.set_device(int(os.environ["RANK"]))
dist.init_process_group("hccl")
rank, x, g = dist.get_rank(), torch.ones(4).npu(), torch.npu.NPUGraph()
dist.all_reduce(x.clone())
parts = torch.zeros(2, 4).npu()
with torch.npu.graph(g):
    doubled = x * 2
    dist.all_reduce(doubled)
    dist.all_gather_into_tensor(parts, x)
    result = doubled + 1
for value in (1.0, 5.0):
    x.fill_(value * (rank + 1))
    g.replay()
    assert result.tolist() == [6 * value + 1] * 4
    assert parts[:, 0].tolist() == [value, 2 * value]
print("whole")
dist.destroy_process_group()
""",
        encoding="utf-8",
    )
    ranks = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    done = run(ranks, simulator_env)
    assert done.returncode == 0 and done.stdout.count("whole") == 2, done.stderr[-3000:]
