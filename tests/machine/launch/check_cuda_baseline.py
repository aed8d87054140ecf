"""The CPU standing in for CUDA against a real CUDA GPU, on a machine that has one.

    python tests/machine/launch/check_cuda_baseline.py [--steps 20] [--json FILE]

Runs both example scripts on the GPU and with baseline=cpu, AMP off and on, and prints the losses side by side.
TF32 is turned off on the GPU: the baseline computes in float32. Exits with 1 where the first steps differ by
more than TOLERANCE; later steps are shown and not judged, since training amplifies any rounding.
Needs torch with CUDA, numpy and (for the digits) scikit-learn; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from ascend_workbook.machine.launch import LaunchResult, LaunchSpec, launch  # noqa: E402

SCRIPTS = ROOT / "notebooks" / "scripts"
#: Steps judged, and the relative difference allowed there: (float32, mixed precision).
JUDGED = 5
TOLERANCE = {False: 1e-4, True: 2e-2}
RUNS: list[tuple[str, tuple[str, ...]]] = [
    ("gpt_text.py", ()),
    ("gpt_text.py", ("--accumulate", "2", "--clip", "0")),
    ("resnet_digits.py", ()),
    ("resnet_digits.py", ("--depth", "50")),
]


def run(script: str, args: tuple[str, ...], tier: str, steps: int, out: Path) -> LaunchResult:
    out.mkdir(parents=True)
    env = {**os.environ, "NVIDIA_TF32_OVERRIDE": "0"}
    transform = "none" if tier == "cuda" else "baseline_cpu"
    spec = LaunchSpec(
        out, SCRIPTS / script, args=args, cwd=out, env=env, transform=transform, steps=steps, tier=tier, timeout_s=280
    )
    result = launch(spec)
    if not result.ok:
        print((out / "output.log").read_text()[-3000:])
        raise SystemExit(f"{script} on {tier}: {result.trouble}")
    return result


def compare(script: str, args: tuple[str, ...], amp: bool, steps: int, folder: Path) -> dict[str, Any]:
    given = (*args, "--amp") if amp else args
    pair = {tier: run(script, given, tier, steps, folder / tier) for tier in ("cuda", "cpu")}
    cuda, cpu = pair["cuda"], pair["cpu"]
    relative = [abs(a - b) / abs(a) for a, b in zip(cuda.losses, cpu.losses) if a is not None and b is not None]
    skipped = {tier: result.logs[0].skipped_steps for tier, result in pair.items()}
    devices = cuda.logs[0].meta["parameter_devices"]
    good = len(relative) == steps and max(relative[:JUDGED]) <= TOLERANCE[amp] and devices == ["cuda:0"]
    print(f"\n{script} {' '.join(given)}: {'good' if good else 'DIFFERENT'}; on {devices}, skipped updates {skipped}")
    print("step        cuda         cpu   relative   |grad| cuda    |grad| cpu")
    for a, b, difference in zip(cuda.steps, cpu.steps, relative):
        norms = f"{a.grad_norm:13.6f} {b.grad_norm:13.6f}"
        print(f"{a.step:4d} {a.loss:11.6f} {b.loss:11.6f} {difference:10.2e} {norms}")
    return {
        "script": script,
        "args": list(given),
        "good": good,
        "cuda": cuda.losses,
        "cpu": cpu.losses,
        "largest_relative_first": max(relative[:JUDGED]),
        "largest_relative": max(relative),
        "skipped": skipped,
        "seconds": {tier: result.elapsed_s for tier, result in pair.items()},
        "torch": cuda.logs[0].meta["versions"]["torch"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (script, args) in enumerate(RUNS):
            if script == "resnet_digits.py" and importlib.util.find_spec("sklearn") is None:
                print(f"\n{script}: NOT LOOKED AT, scikit-learn is not installed")
                continue
            for amp in (False, True):
                found.append(compare(script, args, amp, options.steps, Path(folder) / f"{number}-{amp}"))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return 0 if found and all(entry["good"] for entry in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
