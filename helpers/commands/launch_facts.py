"""Describe the distributed job that this environment belongs to, and print the line that starts it.

Reads ModelArts' variables (MA_*, VC_*), HCCL's rank table (RANK_TABLE_FILE, either form), torchrun's and SLURM's, by
allow-list, and makes one description: hosts, ranks per host, devices, master address and port. Sources that
contradict each other are named (exit code 1). It starts nothing. The script and its arguments stand last.

Examples:
  ascend-workbook launch-facts
  ascend-workbook launch-facts train.py --batch-size 16
  ascend-workbook launch-facts --lang zh --json launch.json train.py
"""

from __future__ import annotations

import argparse

from helpers.commands import behind
from helpers.environment import launch_facts
from helpers.report import Report

NAME = "launch-facts"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("script", nargs=argparse.REMAINDER, help="the training script and its arguments, for the line")


def run(args: argparse.Namespace) -> Report:
    """Looks and reports."""
    given = behind(args.script)
    return launch_facts(tuple(given) or ("train.py",))
