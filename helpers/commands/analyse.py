"""Say where a profile's time goes: by kind, by operator, by step.

Examples:
  ascend-workbook analyse runs/demo/profiling/profile
  ascend-workbook analyse result_dir/worker0_20260101120000000_ascend_pt --top 30
  ascend-workbook analyse gpu.pt.trace.json.gz --html report.html

Reads what torch.profiler writes (CPU, CUDA, ROCm; .json, .json.gz) and the *_ascend_pt folders of
torch_npu.profiler, exported as text or db. Files of gigabytes are read piece by piece; of one that was cut short,
what is whole. Nothing is written into the profile.
"""

from __future__ import annotations

import argparse

from helpers.report import Report

NAME = "analyse"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a trace file, an *_ascend_pt folder, or a folder of one or of several ranks")
    parser.add_argument("--top", type=int, default=15, metavar="N", help="operators to list (default: 15)")


def run(args: argparse.Namespace) -> Report:
    from helpers.profiling import analyse

    return analyse(args.path, top=args.top)
