"""Compare two captures tensor by tensor and name the operator that parts them first.

Both folders were made by `ascend-workbook capture`, or are dump folders of msprobe 8.x or 26.x (PrecisionDebugger;
statistics, tensors, md5), of the older ptdbg_ascend (.pkl and .npy; nothing is unpickled), or plain trees of .pt and
.npy files, which pair by path. The two sides may be of different kinds; either may be a bundle made
by `ascend-workbook baseline`.
Exits 1 where the runs part, 0 where every difference is explained by rounding, 2 where a side cannot be read; with
--fail-on also 1 where a finding of that class, else a warning or a remark, is there: operators without a partner
(unpaired), other dtypes (dtype), no NPU that took part (device), anything left unseen (incomplete).

Examples:
  ascend-workbook compare runs/demo/baseline runs/demo/npu
  ascend-workbook compare runs/demo/baseline runs/demo/npu --html precision.html --json precision.json
  ascend-workbook compare gpu_dump npu_dump --layers
  ascend-workbook compare gpu_dump npu_dump --tolerances
  ascend-workbook compare gpu.zip runs/demo/npu --attempts runs/demo
  ascend-workbook compare gpu_dump npu_dump --replay-on cpu npu
  ascend-workbook compare gpu_dump npu_dump --no-replay --csv numbers.csv
  ascend-workbook compare runs/fp32 runs/bf16 --anyway
  ascend-workbook compare gpu_dump npu_dump --only layer1 "*softmax*" --sample 0.1
  ascend-workbook compare /share/gpu_dump /share/npu_dump --scheduler tcp://10.0.0.1:8786
  ascend-workbook compare gpu_dump npu_dump --fail-on divergence --fail-on incomplete --junit precision.xml
"""

from __future__ import annotations

import argparse

from helpers.commands import add_fail_on
from helpers.precision.compare import around, compare
from helpers.precision.views.factors import tolerances
from helpers.precision.views.layers import layers
from helpers.precision.views.questions import OF_COMPARE
from helpers.report import TIERS, Report

NAME = "compare"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("baseline", help="capture of the GPU, or of the CPU in its place")
    parser.add_argument("target", help="capture of the NPU")
    parser.add_argument("--no-replay", action="store_true", help="do not run operators again in float64 (no torch)")
    parser.add_argument("--replay-on", nargs="+", choices=(*TIERS, "none"), metavar="TIER",
                        help="run the first divergence again on these devices (default: on the two captured on)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help="compare operators of these names alone: a part of the name, or a pattern with *")
    parser.add_argument("--sample", type=float, default=1.0, metavar="SHARE",
                        help="read this share of every tensor (0.1: a tenth); the error this costs is told")
    parser.add_argument("--seed", type=int, default=0, help="which elements --sample takes (default: 0)")
    parser.add_argument("--csv", metavar="FILE", help="write the numbers of every tensor, in msprobe's columns")
    parser.add_argument("--anyway", action="store_true", help="judge tensors of runs that are not the same experiment")
    parser.add_argument("--scheduler", default="", metavar="ADDRESS",
                        help="read the tensors on this Dask cluster, whose machines see both folders under the same"
                             " paths (needs: pip install distributed)")  # fmt: skip
    parser.add_argument("--around", type=int, default=0, metavar="N",
                        help="show only N rows before and after the first divergence")  # fmt: skip
    parser.add_argument("--attempts", metavar="RUN", help="keep this comparison in RUN and say whether the last change"
                        " helped (`ascend-workbook attempts RUN` lists all)")  # fmt: skip
    parser.add_argument("--layers", action="store_true",
                        help="show a plain report by layer: differences, cosine, pass or fail, platform")  # fmt: skip
    parser.add_argument("--tolerances", action="store_true",
                        help="show how many operators would be out under other tolerances")  # fmt: skip
    parser.add_argument("--all", dest="details", action="store_true", help="show rows that agree too, with details")
    add_fail_on(parser, OF_COMPARE, "the comparison, or could not be looked for")


def run(args: argparse.Namespace) -> Report:
    """Compares and reports."""
    replay_on = [tier for tier in args.replay_on if tier != "none"] if args.replay_on else None
    report = compare(args.baseline, args.target, replaying=not args.no_replay, only=args.only, sample=args.sample,
                     seed=args.seed, csv=args.csv, attempts=args.attempts, fail_on=args.fail_on, anyway=args.anyway,
                     scheduler=args.scheduler, replay_on=replay_on)  # fmt: skip
    return around(report, args.around) if args.around else report


def show(report: Report, args: argparse.Namespace) -> bool:
    """The views that were asked for, in place of the whole table; the files that are written keep it."""
    for asked, view in ((args.layers, layers), (args.tolerances, tolerances)):
        if asked:
            print(view(report).text(args.lang))
    return bool(args.layers or args.tolerances)


def last(report: Report, args: argparse.Namespace) -> None:
    """Whether the last change helped, where attempts are kept: good news is no remark and stands alone."""
    for found in report.findings if args.attempts else ():
        if found.rule == "ACC285":
            print(found.message(args.lang))
