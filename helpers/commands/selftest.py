"""The first meeting with a device: everything the workbook needs is tried on it, and one redacted archive is written.

Parts, each in a process of its own with a time limit, so that a crash or a hang of one does not lose the others:
  check       the whole check of the environment, with computation, bandwidth and a collective
  operators   140 cases against the CPU in float64: 44 operators of torch in three number types (40 of them with
              gradients), 4 of torch_npu in two; where there is no NPU the 132 cases of torch
  scripts     two bundled trainings, float32 and mixed precision, against committed losses
  profiler    a short trace, recorded and read back
  hccl        collectives over two ranks, their values checked

The archive holds the reports (JSON and HTML), the check, what was printed, the device's logs of this time and those
given with --log, the newest first; manifest.json has each file's sha256 and names what was left out for its size.
Taken out of every file: values of variables named as secrets, what is written as a password, key or token, the user,
the home folder, the job's hosts as its variables name them, addresses. Look it through, then attach it to a question.
Nothing is sent anywhere.

Examples:
  ascend-workbook selftest --device npu
  ascend-workbook selftest --device npu-simulated --out bundles
  ascend-workbook selftest --log train.log --log ~/ascend/log
  ascend-workbook selftest --part hccl
  ascend-workbook selftest --only operators --only profiler --timeout 600

With --device npu a simulated NPU does not count; without a real one the archive holds the check, which says why.
"""

from __future__ import annotations

import argparse

from helpers.commands import progress_line
from helpers.errors import WorkbookError
from helpers.report import TIERS, Report
from helpers.selftest import PARTS, run_part, selftest
from helpers.words import say

NAME = "selftest"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--device", default="auto", choices=("auto", *TIERS), help="what to test (default: auto)")
    parser.add_argument("--out", default=".", metavar="DIR", help="where the archive is written (default: here)")
    parser.add_argument("--only", action="append", choices=tuple(PARTS), help="this part; may be given more than once")
    parser.add_argument("--part", choices=tuple(PARTS), help="this part alone, in this process, without an archive")
    parser.add_argument("--log", action="append", metavar="PATH", help="a log or folder that goes into the archive")
    parser.add_argument("--timeout", type=float, metavar="S", help="limit of each part in seconds")


def run(args: argparse.Namespace) -> Report:
    """Runs the parts and reports."""
    if args.timeout is not None and args.timeout <= 0:
        raise WorkbookError("selftest.timeout", seconds=f"{args.timeout:g}")
    for option in ("only", "log"):
        if args.part and getattr(args, option):
            raise WorkbookError("command.excludes", option="--part", other=f"--{option}", verb=NAME)
    if args.part:
        return run_part(args.part, args.device, args.timeout)

    def tell(name: str) -> None:
        part = say(f"selftest.part.{name}", args.lang)
        progress_line(say("selftest.running", args.lang, part=part))

    return selftest(
        args.device, out=args.out, parts=args.only or (), logs=args.log or (), timeout_s=args.timeout, on_part=tell
    )
