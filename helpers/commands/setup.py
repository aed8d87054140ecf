"""Print the commands that make this machine ready, or write its Jupyter kernel.

Looks as `check` does and prints, for a ModelArts image, a server with CANN or a laptop with the simulator, which
versions fit and the exact pip commands. It runs none of them, and none of them replaces an installed torch: what is
there is held by constraints, or a new environment is proposed beside it. --kernelspec writes a kernel whose
environment is what CANN's set_env.sh (sourced through bash) or the simulator makes of a clean one.

Examples:
  ascend-workbook setup
  ascend-workbook setup --device npu --lang zh
  ascend-workbook setup --kernelspec ascend-npu
  ascend-workbook setup --kernelspec ascend-npu --display-name "Ascend NPU" --force
"""

from __future__ import annotations

import argparse
from pathlib import Path

from helpers.environment.installing import set_up
from helpers.environment.installing.report import write_kernel
from helpers.errors import WorkbookError
from helpers.report import TIERS, Report

NAME = "setup"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("--device", default="auto", choices=("auto", *TIERS), help="what it is to be ready for")
    parser.add_argument("--kernelspec", metavar="NAME", help="write the Jupyter kernel of this name instead")
    parser.add_argument("--display-name", default="", metavar="TEXT", help="with --kernelspec: as Jupyter shows it")
    parser.add_argument("--prefix", type=Path, help="with --kernelspec: environment to install into (this Python's; "
                        "where the Jupyter server does not look there, the user's folder)")
    parser.add_argument("--force", action="store_true", help="with --kernelspec: replace a kernel of that name")


def run(args: argparse.Namespace) -> Report:
    """Plans, or writes the kernel."""
    if args.kernelspec is not None:
        return write_kernel(
            args.kernelspec, device=args.device, display_name=args.display_name, prefix=args.prefix, replace=args.force
        )
    given = {"--display-name": args.display_name, "--prefix": args.prefix, "--force": args.force}
    for option in (name for name, value in given.items() if value):
        raise WorkbookError("command.belongs", option=option, needs="--kernelspec", verb=NAME)
    return set_up(args.device, anywhere=True)
