"""Compare the curves of two runs step by step: loss, learning rate, gradient norm, loss scale, metrics.

Takes logs of any kind, or folders that hold one: gpulog.json (every command that runs a script writes it), JSON or
JSON lines of records, CSV and TSV, TensorBoard event files, trainer_state.json, Megatron-LM's logs and other text
(`step 10 loss 3.2`); --pattern with named groups reads what is left.
Exits 1 where the first loss differs by more than the tolerance, a loss is not a number, the loss scale is at its
minimum or a target metric is not reached. Losses that part only later are a warning: training amplifies honest
rounding, and only the tensors tell (ascend-workbook compare); --fail-on divergence exits 1 there too.

Examples:
  ascend-workbook curves runs/demo/baseline runs/demo/npu
  ascend-workbook curves gpu/train.log npu/train.log --target-metric 'val_loss<=2.9' --html curves.html
  ascend-workbook curves gpu/tensorboard npu/tensorboard --tolerance 1e-4 --checkpoints npu/checkpoints
  ascend-workbook curves gpu/train.log npu/train.log --follow --timeout 3600
  ascend-workbook curves gpu/train.log npu/train.log --fail-on divergence --fail-on spike --junit curves.xml
  ascend-workbook curves a.log b.log --pattern 'at (?P<step>[0-9]+): (?P<loss>[-+.0-9einfa]+)'
"""

from __future__ import annotations

import argparse

from helpers.commands import add_fail_on, progress_line
from helpers.precision.curves import TOLERANCE, Follow, curves
from helpers.precision.views.questions import OF_CURVES
from helpers.report import Report

NAME = "curves"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("baseline", help="log of the GPU, or of the CPU in its place")
    parser.add_argument("target", help="log of the NPU")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="largest relative difference (default 1e-3)")
    parser.add_argument("--target-metric", action="append", default=[], metavar="NAME>=VALUE",
                        help="final value that the target must reach, with >=, <=, > or <; several times")  # fmt: skip
    parser.add_argument("--loss", default="", metavar="NAME", help="the log's own name for the loss")
    parser.add_argument("--pattern", default="", help="regular expression with the groups step and loss (lr, ...)")
    parser.add_argument("--shift", type=int, default=0, help="added to the target's steps, where it counts otherwise")
    parser.add_argument("--checkpoints", metavar="DIR", help="the target's checkpoints (default: beside its log)")
    parser.add_argument("--follow", action="store_true", help="read on while the run is going (Ctrl-C: report)")
    parser.add_argument("--every", type=float, default=Follow.every_s, help="seconds between looks (default 2)")
    parser.add_argument("--timeout", type=float, default=Follow.timeout_s, help="seconds to follow at most")
    parser.add_argument("--idle", type=float, default=Follow.idle_s,
                        help="seconds without a new line after which a run counts as ended (300)")  # fmt: skip
    add_fail_on(parser, OF_CURVES, "the curves, or could not be looked for")


def run(args: argparse.Namespace) -> Report:
    """Compares and reports."""
    following = Follow(args.every, args.timeout, args.idle) if args.follow else None
    return curves(
        args.baseline, args.target, tolerance=args.tolerance, target_metric=args.target_metric, pattern=args.pattern,
        loss=args.loss, shift=args.shift, checkpoints=args.checkpoints, following=following, fail_on=args.fail_on,
        progress=progress_line,
    )  # fmt: skip
