"""Record some training steps of a script with the device's own profiler, and check that data came.

Examples:
  ascend-workbook profile train.py --epochs 1
  ascend-workbook profile --device cpu --steps 20 --out runs/before train.py
  ascend-workbook profile --nproc 8 --ranks 0,7 train.py
  ascend-workbook profile --device npu --level 2 --metrics memory --export both --op-attr train.py

The script runs unmodified: on an NPU under torch_npu's transfer_to_npu, on CUDA as it is, on the CPU with CUDA
mapped to it. Options of this command come before the script, the script's own after it. A loop of your own, in a
notebook or under torchrun: `with helpers.recording("out", steps=5) as recorder: ... recorder.step()`.
"""

from __future__ import annotations

import argparse

from helpers.commands import add_numbers, behind, progress_lines
from helpers.report import TIERS, Report

NAME = "profile"
#: Options of collecting/options.py that a command line has too
SHARED = ("steps", "warmup", "wait", "stack", "flops", "modules", "level", "metrics", "export", "l2_cache", "op_attr",
          "mstx", "gc_ms", "limit_mib")  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", choices=("auto", *TIERS), help="where to run (default: auto)")
    parser.add_argument("--steps", type=int, default=10, metavar="N", help="steps to record (default: 10)")
    parser.add_argument("--warmup", type=int, default=2, metavar="N", help="steps before them (default: 2)")
    parser.add_argument("--wait", type=int, default=3, metavar="N", help="steps unrecorded first (default: 3)")
    parser.add_argument("--out", default="profile", metavar="DIR", help="folder for the profile (default: profile)")
    parser.add_argument("--nproc", type=int, default=1, metavar="N", help="processes, under torchrun (default: 1)")
    add_numbers(parser, "--ranks", "record only these ranks", None, "all")
    parser.add_argument("--stack", action="store_true", help="record call stacks too (large)")
    parser.add_argument("--modules", action="store_true", help="record which module calls an operator")
    parser.add_argument("--flops", action="store_true", help="count FLOPs (CPU, CUDA)")
    parser.add_argument("--no-shapes", action="store_true", help="no input shapes")
    parser.add_argument("--no-memory", action="store_true", help="no memory records")
    parser.add_argument("--level", type=int, choices=(0, 1, 2), help="NPU: how much CANN records (default: 1)")
    parser.add_argument("--metrics", metavar="NAME", help="NPU: AI Core metrics: none, pipe (default), arithmetic, "
                        "memory, memory-l0, memory-ub, conflict, l2, memory-access")  # fmt: skip
    parser.add_argument("--export", default="text", metavar="FORM", help="NPU: text (default), db or both")
    parser.add_argument("--l2-cache", action="store_true", help="NPU: hit rates of the L2 cache")
    parser.add_argument("--op-attr", action="store_true", help="NPU: attributes of operators (needs a database)")
    parser.add_argument("--mstx", action="store_true", help="NPU: marks of the mstx interface")
    parser.add_argument("--gc-ms", type=float, metavar="MS", help="NPU: Python's garbage collections from so long on")
    parser.add_argument("--keep-raw", action="store_true", help="NPU: keep the raw data beside what is parsed")
    parser.add_argument("--limit-mib", type=int, metavar="MIB", help="refuse what would need more (default: the disk)")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="end the script after this time")
    parser.add_argument("script", help="the training script")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="the script's own arguments")


def run(args: argparse.Namespace) -> Report:
    from helpers.profiling import profile

    return profile(
        args.script,
        behind(args.args),
        device=args.device,
        out=args.out,
        nproc=args.nproc,
        timeout_s=args.timeout,
        on_progress=progress_lines,
        ranks=args.ranks,
        shapes=not args.no_shapes,
        memory=not args.no_memory,
        simplify=not args.keep_raw,
        **{name: getattr(args, name) for name in SHARED},
    )
