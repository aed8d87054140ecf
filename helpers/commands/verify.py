"""Run many inputs through two models and compare every module: pass rate, worst module, worst input.

A model is `file.py:function` (called without arguments, gives a torch.nn.Module on the CPU) or a checkpoint (.pt of a
state_dict) for --factory. Inputs are `file.py:function` (gives an iterable) or a .pt of a list of inputs. Each model
runs in a process of its own, so that one may be on a GPU or CPU and the other on an NPU.
Exits 1 where fewer inputs pass than --required, 0 where they do, 2 where a side cannot be made.

Examples:
  ascend-workbook verify net.py:build net.py:build --inputs data.py:batches --limit 200
  ascend-workbook verify gpu.pt npu.pt --factory net.py:build --inputs inputs.pt --device-a cpu --device-b cpu
  ascend-workbook verify net.py:build net.py:build --inputs data.py:batches --only 17 --reference
"""

from __future__ import annotations

import argparse

from helpers.commands import add_numbers, progress_line
from helpers.precision.verify import verify
from helpers.report import TIERS, Report

NAME = "verify"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("baseline", help="file.py:function or checkpoint")
    parser.add_argument("target", help="file.py:function or checkpoint")
    parser.add_argument("--inputs", required=True, help="file.py:function that gives inputs, or a .pt of a list")
    parser.add_argument("--factory", default="", help="file.py:function that makes the model of checkpoints")
    parser.add_argument(
        "--device-a",
        default="baseline",
        choices=("baseline", "auto", *TIERS),
        help="of the baseline (default: CUDA, else the CPU)",
    )
    parser.add_argument("--device-b", default="auto", choices=("auto", *TIERS), help="of the target (default: auto)")
    parser.add_argument("--mode", default="", choices=("eval", "train"), help="default: as the factory leaves it")
    parser.add_argument("--seed", type=int, default=0, help="input N runs at seed + N (default: 0)")
    parser.add_argument("--tolerance", type=float, help="largest relative L2 error of any module (default: by dtype)")
    parser.add_argument("--required", type=float, default=1.0, metavar="RATE", help="pass rate to reach (default: 1)")
    parser.add_argument("--reference", action="store_true", help="run the baseline in float64 too: who is right?")
    add_numbers(parser, "--only", "run these inputs alone", [], "all")
    parser.add_argument("--limit", type=int, metavar="N", help="take the first N inputs")
    parser.add_argument("--fault", default="", help="simulated NPU only: a fault for the target, as capture takes it")
    parser.add_argument("--numerics", default="", choices=("cpu", "ascend"), help="simulated NPU only: its rounding")
    parser.add_argument("--all", dest="details", action="store_true", help="show rows that agree too, with details")


def run(args: argparse.Namespace) -> Report:
    """Verifies and reports."""
    settings = {"ASCEND_WORKBOOK_SIM_FAULT": args.fault, "ASCEND_WORKBOOK_SIM_NUMERICS": args.numerics}
    return verify(
        args.baseline, args.target, args.inputs, factory=args.factory, device_a=args.device_a, device_b=args.device_b,
        mode=args.mode, seed=args.seed, tolerance=args.tolerance, required=args.required, reference=args.reference,
        only=args.only, limit=args.limit, settings={name: value for name, value in settings.items() if value},
        progress=progress_line,
    )  # fmt: skip
