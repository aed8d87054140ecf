"""What the simulated NPU costs: training steps against the CPU's, and its share of a program's start.

    python benchmarks/simulator.py [--pairs 21] [--model gpt ...] [--json FILE]

The steps are those of a GPT with d=256 and 4 layers on 8 x 64 tokens (AdamW), of a ResNet-50 on 8 images of 64 x 64
(SGD with momentum) and of a GPT with d=64 and 2 layers on 8 x 32 tokens (AdamW), forward, backward and update. CPU
and simulated NPU take turns in one process, the first of each pair changing, so that a slow moment of the machine
meets both. A model is within its bar when the median of its pairs' ratios is.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

STEP_BARS = {"gpt": 1.08, "resnet50": 1.08, "tiny_gpt": 1.2}
START_BAR_S = 0.3
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
    parser.add_argument("--model", nargs="+", choices=STEP_BARS, default=list(STEP_BARS), help="default: all")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.pairs < 15:
        parser.error("--pairs: at least 15")
    if args.child:
        print(json.dumps(time_pairs(args.model[0], args.pairs)))
        return 0
    start = start_up()
    steps = {model: step(model, args.pairs) for model in args.model}
    figures = {**start, "steps": steps}
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")
    good = start["start_s"] <= START_BAR_S
    good = good and all(found["ratio_median"] <= STEP_BARS[model] for model, found in steps.items())
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


def step(model: str, pairs: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", "--model", model, "--pairs", str(pairs)]
    done = run(command, child_environment())
    seconds: list[tuple[float, float]] = json.loads(done.stdout.splitlines()[-1])
    ratios = sorted(npu / cpu for cpu, npu in seconds)
    low, median, high = statistics.quantiles(ratios, n=4)
    cpu, npu = (statistics.median(side) for side in zip(*seconds))
    print(f"{model}: cpu {cpu * 1000:.1f} ms, npu-simulated {npu * 1000:.1f} ms, medians of {pairs} pairs")
    print(f"{model}: ratio {median:.3f}, quartiles {low:.3f} to {high:.3f} (bar {STEP_BARS[model]})")
    return {"cpu_s": cpu, "npu_simulated_s": npu, "ratio_median": median, "ratio_low": low, "ratio_high": high}


def child_environment() -> dict[str, str]:
    from ascend_workbook.machine import simulator

    return simulator.simulator_environment()


def run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr[-3000:])
    return done


def time_pairs(model: str, pairs: int) -> list[tuple[float, float]]:
    """Seconds of one step on the CPU and on the simulated NPU, pair by pair, after three of each to warm up."""
    sys.path.insert(0, str(Path(__file__).parent / "child"))
    from training_steps import MODELS

    steps = {device: MODELS[model](device) for device in ("cpu", "npu")}
    for _ in range(3):
        for take in steps.values():
            take()
    found = []
    for pair in range(pairs):
        order = ("cpu", "npu") if pair % 2 == 0 else ("npu", "cpu")
        seconds = {device: steps[device]() for device in order}
        found.append((seconds["cpu"], seconds["npu"]))
    return found


if __name__ == "__main__":
    sys.exit(main())
