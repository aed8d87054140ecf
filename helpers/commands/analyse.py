"""Say where a profile's time goes: by kind, by operator, by step, on a timeline; or what differs from a baseline.

Examples:
  ascend-workbook analyse runs/demo/profiling/profile
  ascend-workbook analyse result_dir/worker0_20260101120000000_ascend_pt --top 30
  ascend-workbook analyse gpu.pt.trace.json.gz --html report.html
  ascend-workbook analyse trace.json.gz --timeline timeline.html --step 51
  ascend-workbook analyse npu_ascend_pt --baseline gpu.pt.trace.json.gz --html difference.html
  ascend-workbook analyse after.pt.trace.json --baseline before.pt.trace.json
  ascend-workbook analyse rank0_ascend_pt --perfetto perfetto.json.gz --flame stacks.txt
  ascend-workbook analyse runs/demo/profiling/profile --ranks 0,3 --lang zh
  ascend-workbook analyse huge_ascend_pt --steps 120-140
  ascend-workbook analyse /share/profile --scheduler tcp://10.0.0.1:8786

Reads what torch.profiler writes (CPU, CUDA, ROCm; .json, .json.gz) and the *_ascend_pt folders of
torch_npu.profiler, exported as text or db. Files of gigabytes are read piece by piece; of one that was cut short,
what is whole. Nothing is written into the profile. The page and the timeline open without a network; the Perfetto
trace opens in https://ui.perfetto.dev and chrome://tracing, the stacks in https://www.speedscope.app.

Of a folder with the profiles of several ranks: who waits for whom in which collective, which rank or pipeline stage is
slow and in what, the links, and each rank by itself. A rank that is missing or broken is one finding.
"""

from __future__ import annotations

import argparse

from helpers.commands import add_numbers
from helpers.profiling.export import ENDINGS
from helpers.report import Report
from helpers.words import say

NAME = "analyse"
FILES = {
    "timeline": "the timeline as a page to zoom and search in, or as a picture",
    "perfetto": "the profile as a trace that Perfetto shows whole",
    "flame": "call stacks with their times: as text for flame graph programs, or as a picture",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a trace file, an *_ascend_pt folder, or a folder of one or of several ranks")
    parser.add_argument("--top", type=int, default=15, metavar="N", help="operators to list (default: 15)")
    parser.add_argument("--all", dest="details", action="store_true",
                        help="list all rows, whole shapes and each check that was not looked at")  # fmt: skip
    parser.add_argument("--baseline", metavar="PROFILE",
                        help="hold the profile against this one: GPU against NPU, before against after;"
                             " of folders of several ranks the one that --ranks names;"
                             " --steps A-B is of both sides")  # fmt: skip
    parser.add_argument("--step", type=int, metavar="N", help="show this step on the timeline (default: a median one)")
    parser.add_argument("--steps", default="auto", metavar="A-B",
                        help="look at these steps alone, or at all (default: auto, all of a trace up to 512 MiB,"
                             " of a larger one so many as fit that, alike to the mean, so that memory does"
                             " not grow)")  # fmt: skip
    for name, what in FILES.items():
        parser.add_argument(f"--{name}", metavar="FILE", help=f"write {what} ({', '.join(ENDINGS[name])})")
    parser.add_argument("--advisor", action="store_true",
                        help="ask msprof-analyze's advisor too, where it is installed (up to 5 minutes)")  # fmt: skip
    add_numbers(parser, "--ranks", "of several ranks read these alone", (), "all")
    parser.add_argument("--scheduler", default="", metavar="ADDRESS",
                        help="read the ranks on this Dask cluster, whose machines see the folder under the same path"
                             " (needs: pip install distributed)")  # fmt: skip


def run(args: argparse.Namespace) -> Report:
    from helpers.profiling import analyse

    files = {name: getattr(args, name) for name in FILES if getattr(args, name)}
    return analyse(args.path, top=args.top, step=args.step, files=files, baseline=args.baseline, lang=args.lang,
                   ranks=args.ranks, scheduler=args.scheduler, advisor=args.advisor, steps=args.steps)  # fmt: skip


def last(report: Report, args: argparse.Namespace) -> None:
    """Where the files are that were asked for."""
    for name in FILES:
        if getattr(args, name):
            print(say("command.written", args.lang, path=getattr(args, name)))
