"""Move folders and files to and from object storage (obs://), and list and check what lies there.

Transfers are parallel, go on where they were stopped, and end with a manifest (transfer.json): without it a folder is
not complete. `download` and `verify` check every SHA-256 and name each file that is not what was sent (exit code 1).
Keys come from OBS_ACCESS_KEY_ID, OBS_SECRET_ACCESS_KEY, OBS_SECURITY_TOKEN and OBS_SERVER in the environment, or from
lines NAME=VALUE in ~/.obs (mode 600), and from nowhere else. It needs the package esdk-obs-python.

Examples:
  ascend-workbook storage upload runs/demo obs://my-bucket/runs/demo
  ascend-workbook storage upload gpu.zip obs://my-bucket/baselines/
  ascend-workbook storage list obs://my-bucket/runs
  ascend-workbook storage download obs://my-bucket/runs/demo runs/demo
  ascend-workbook storage download --unverified obs://my-bucket/sent/by/hand data
  ascend-workbook storage verify obs://my-bucket/runs/demo
  ascend-workbook storage verify --quick runs/demo
"""

from __future__ import annotations

import argparse

from helpers.commands import add_outputs, progress_line
from helpers.errors import WorkbookError
from helpers.report import Report

NAME = "storage"
MOST_WORKERS, MOST_MIB = 64, 5120


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the actions and their options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    told = actions.add_parser("list", help="the files below an address")
    up = actions.add_parser("upload", help="a folder with its manifest, or one file; only what is missing")
    down = actions.add_parser("download", help="a folder, checked by its manifest, or one file; only what is missing")
    checked = actions.add_parser("verify", help="whether all files are what the manifest tells, here or there")
    up.add_argument("source", metavar="PATH", help="folder or file")
    for action in (told, up, down):
        action.add_argument("place", metavar="ADDRESS", help="obs://bucket/prefix; ending in / a file keeps its name")
    down.add_argument("folder", metavar="PATH", help="folder it goes to, or the new file's path")
    down.add_argument("--unverified", action="store_true", help="also without a manifest: all files below the address")
    checked.add_argument("place", metavar="PLACE", help="obs://bucket/prefix, or a folder that was fetched")
    checked.add_argument("--quick", action="store_true", help="sizes alone, without reading the files; said so")
    for action in (up, down):
        action.add_argument("--workers", type=int, default=8, metavar="N", help="requests at once (default 8)")
        action.add_argument("--part-mib", type=int, default=16, metavar="N", help="size of a part (default 16)")
    for action in (told, up, down, checked):
        add_outputs(action)


def run(args: argparse.Namespace) -> Report:
    """Does it and reports."""
    from helpers.storage import verb

    if args.action in ("upload", "download"):
        for option, value, most in (("--workers", args.workers, MOST_WORKERS), ("--part-mib", args.part_mib, MOST_MIB)):
            if not 1 <= value <= most:
                raise WorkbookError("storage.option", option=option, value=value, most=most)
    if args.action == "upload":
        return verb.upload(args.source, args.place, workers=args.workers, part_mib=args.part_mib, tell=progress_line)
    if args.action == "download":
        return verb.download(args.place, args.folder, unverified=args.unverified, workers=args.workers,
                             part_mib=args.part_mib, tell=progress_line)  # fmt: skip
    if args.action == "verify":
        return verb.verify(args.place, quick=args.quick, tell=progress_line)
    return verb.contents(args.place)
