"""What the simulated NPU costs: a GPT training step against the CPU's, and its share of a program's start.

    python benchmarks/simulator.py [--pairs 21] [--json FILE]

The step is that of a GPT with d=256, 4 layers, batch 8 x 64 tokens, AdamW. CPU and simulated NPU take turns in one
process, the first of each pair changing, so that a slow moment of the machine meets both. Bars: 1.15 times the
CPU's step (median of the pairs' ratios), 0.3 s of start-up.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

STEP_BAR, START_BAR_S = 1.15, 0.3
LOAD = """
import ctypes, os, time
folder = os.path.join(os.environ["ASCEND_HOME_PATH"], "lib64")
started = time.perf_counter()
for name in sorted(os.listdir(folder)):
    if name != "libnpu_sim_kernels.so":
        ctypes.CDLL(os.path.join(folder, name))
print(time.perf_counter() - started)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=21, help="interleaved pairs of steps, at least 15 (default: 21)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.pairs < 15:
        parser.error("--pairs: at least 15")
    if args.child:
        print(json.dumps(time_pairs(args.pairs)))
        return 0
    figures = {**start_up(), **step(args.pairs)}
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")
    good = figures["ratio_median"] <= STEP_BAR and figures["start_s"] <= START_BAR_S
    print("within the bars" if good else "over a bar")
    return int(not good)


def start_up() -> dict[str, float]:
    """Seconds, the best of five: loading the libraries, and registering the operators in aclInit."""
    env = {**child_environment(), "ASCEND_WORKBOOK_SIM_TIMES": "1"}
    loads, inits = [], []
    for _ in range(5):
        loads.append(float(run([sys.executable, "-c", LOAD], env).stdout))
        said = run([sys.executable, "-c", "import torch; torch.ones(1).npu()"], env).stderr
        inits.append(float(re.findall(r"aclInit took ([\d.]+) ms", said)[0]) / 1000)
    load_s, init_s = min(loads), min(inits)
    total_s = load_s + init_s
    print(f"start-up: libraries {load_s:.3f} s + operators {init_s:.3f} s = {total_s:.3f} s (bar {START_BAR_S})")
    return {"load_s": load_s, "init_s": init_s, "start_s": load_s + init_s}


def step(pairs: int) -> dict[str, float]:
    done = run([sys.executable, __file__, "--child", "--pairs", str(pairs)], child_environment())
    seconds: list[tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    ratios = sorted(npu / cpu for cpu, npu in seconds)
    low, median, high = statistics.quantiles(ratios, n=4)
    cpu, npu = (statistics.median(side) for side in zip(*seconds))
    print(f"GPT step: cpu {cpu * 1000:.1f} ms, npu-simulated {npu * 1000:.1f} ms, medians of {pairs} pairs")
    print(f"ratio: median {median:.3f}, quartiles {low:.3f} to {high:.3f} (bar {STEP_BAR})")
    return {"cpu_s": cpu, "npu_simulated_s": npu, "ratio_median": median, "ratio_low": low, "ratio_high": high}


def child_environment() -> dict[str, str]:
    from helpers import simulator

    return simulator.environment()


def run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr[-3000:])
    return done


def time_pairs(pairs: int) -> list[tuple[float, float]]:
    """Seconds of one step on the CPU and on the simulated NPU, pair by pair, after three of each to warm up."""
    steps = {device: make_step(device) for device in ("cpu", "npu")}
    for _ in range(3):
        for take in steps.values():
            take()
    found = []
    for pair in range(pairs):
        order = ("cpu", "npu") if pair % 2 == 0 else ("npu", "cpu")
        seconds = {device: steps[device]() for device in order}
        found.append((seconds["cpu"], seconds["npu"]))
    return found


def make_step(device: str):  # type: ignore[no-untyped-def]
    import torch
    from torch import nn
    from torch.nn import functional

    width, heads, vocabulary = 256, 4, 512

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            parts = self.attention(self.first(x)).chunk(3, dim=-1)
            q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in parts)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).flatten(2))
            return x + self.narrow(functional.gelu(self.wide(self.second(x))))

    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(vocabulary, width), *(Block() for _ in range(4)), nn.Linear(width, vocabulary))
    net.to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    tokens = torch.randint(0, vocabulary, (8, 65)).to(device)

    def take() -> float:
        started = time.perf_counter()
        logits = net(tokens[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
        return time.perf_counter() - started

    return take


if __name__ == "__main__":
    sys.exit(main())
