"""torch_npu's own ProcessGroupHCCL on the simulator's libhccl.so, two to four processes. 90 s."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

CHILDREN = Path(__file__).with_name("children")


def ranks(child: str, env: dict[str, str], *arguments: str, size: int = 2, timeout: float = 120) -> list[str]:
    """What each rank prints. Started by hand: torchrun would end the one whose error is looked for."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {**env, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(size)}
    common["ASCEND_WORKBOOK_SIM_DEVICES"] = str(size)
    children = [
        subprocess.Popen(
            [sys.executable, str(CHILDREN / child), *arguments],
            env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        answers = [running.communicate(timeout=timeout) for running in children]
    finally:
        for running in children:
            running.kill()
    return [out + "".join(error.splitlines(True)[-15:]) for out, error in answers]


@pytest.mark.parametrize("queue", ["0", "2"])
def test_collectives(simulator_env: dict[str, str], queue: str) -> None:
    for rank, said in enumerate(ranks("collectives.py", {**simulator_env, "TASK_QUEUE_ENABLE": queue})):
        assert f"rank {rank} good" in said, said


@pytest.mark.parametrize("size", [pytest.param(2, marks=pytest.mark.full), 3, pytest.param(4, marks=pytest.mark.full)])
def test_results_equal_those_of_gloo(simulator_env: dict[str, str], size: int) -> None:
    """Every collective, dtype and reduction; what HCCL does not reduce is refused, and nothing else is."""
    env = {**simulator_env, "TASK_QUEUE_ENABLE": "0"}
    for rank, said in enumerate(ranks("like_gloo.py", env, size=size)):
        assert f"rank {rank} good" in said, said
        refused = [line.split(" refused ")[1].split(":")[0] for line in said.splitlines() if " refused " in line]
        assert refused == [f"{name} bfloat16 product" for name in ("all_reduce", "reduce", "reduce_scatter")]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("dies", "rank 1 has gone"),
        ("sleeps", "rank 1 did not answer within 4 s (HCCL_EXEC_TIMEOUT)"),
        ("broadcasts", "rank 0 is in HcclAllReduce"),
        ("both send", "both send before they receive, which hangs on hardware"),
        ("same device", "ranks 0 and 1 both use device 0"),
    ],
)
def test_what_goes_wrong_is_an_error(simulator_env: dict[str, str], case: str, said: str) -> None:
    """A dead, late or disagreeing rank gives the other one an error with its reason, and never a hang."""
    env = {**simulator_env, "HCCL_EXEC_TIMEOUT": "4", "HCCL_CONNECT_TIMEOUT": "15"}
    outputs = ranks("fails.py", env, case)
    assert said in (outputs[0] if case != "both send" else "".join(outputs))  # either rank may be the one that notices


def test_every_rank_names_the_one_that_hangs(simulator_env: dict[str, str]) -> None:
    env = {**simulator_env, "HCCL_EXEC_TIMEOUT": "4"}
    for said in ranks("fails.py", env, "sleeps", size=3)[:2]:
        assert "rank 2 did not answer within 4 s (HCCL_EXEC_TIMEOUT)" in said


def test_an_error_is_not_lost_between_queue_and_synchronize(simulator_env: dict[str, str], tmp_path: Path) -> None:
    """torch_npu's queue counts as empty a moment before it counts as failed; a synchronize in between must not pass."""
    slow = tmp_path / "slow_queue.so"
    source = CHILDREN / "slow_queue.cpp"
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(slow), str(source), "-ldl"], check=True)
    env = {**simulator_env, "LD_PRELOAD": str(slow), "TASK_QUEUE_ENABLE": "1"}
    for said in ranks("fails.py", env, "looks late"):
        assert "rank 0 is in HcclAllReduce" in said and "no error" not in said, said


DDP = """
import os, sys, torch, torch.nn as nn, torch.distributed as dist
if sys.argv[1] == "nccl":
    from torch_npu.contrib import transfer_to_npu
rank = int(os.environ["RANK"])
dist.init_process_group(sys.argv[1])
where = "cpu"
if sys.argv[1] == "nccl":
    torch.cuda.set_device(rank)
    where = f"cuda:{rank}"
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 4)).to(where)
net = nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
torch.manual_seed(rank)
for step in range(5):
    x, y = torch.randn(8, 16).to(where), torch.randint(0, 4, (8,)).to(where)
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    sys.stdout.write(f"loss {rank} {step} {loss.item()!r}\\n")
    sys.stdout.flush()
dist.barrier()
dist.destroy_process_group()
"""


def test_ddp_gives_the_losses_of_gloo(simulator_env: dict[str, str], tmp_path: Path) -> None:
    """A CUDA script under torchrun and transfer_to_npu; `nccl` becomes `hccl`."""
    script = tmp_path / "ddp.py"
    script.write_text(DDP)
    losses = {}
    for backend in ("gloo", "nccl"):
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(script), backend]
        done = subprocess.run(command, env=simulator_env, capture_output=True, text=True, timeout=200, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        losses[backend] = sorted(line for line in done.stdout.splitlines() if line.startswith("loss"))
    assert len(losses["gloo"]) == 10
    assert losses["nccl"] == losses["gloo"]
