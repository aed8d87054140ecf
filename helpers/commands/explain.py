"""Explain a log: the first error of the first failing rank, its cause, its cure, and who says so.

Reads training logs (torchrun's ranks in one or in many files), plog folders and Opdebug files; `-` is standard
input. In place of a log an error text or a bare code may be given. With --symptom it prints the known causes of a
run that fails without an error, each with the command that checks it. Nothing is sent anywhere.

Examples:
  ascend-workbook explain train.log
  ascend-workbook explain rank0.log rank1.log ~/ascend/log/debug/plog
  ascend-workbook explain - --lang zh
  ascend-workbook explain 507015
  ascend-workbook explain "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB"
  ascend-workbook explain --symptom slow

Exits 0 where the logs are clean or hold known warnings only (the verdict says which), for a text or code that is not
in our list (it says so), and for --symptom; 1 where an
error was found, known or not; 2 where a log cannot be read. On an unknown error it says what to collect and where
to ask.
"""

from __future__ import annotations

import argparse

from helpers.diagnosis import SYMPTOMS, explain
from helpers.report import Report

NAME = "explain"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("what", nargs="*", help="logs, folders, `-`, an error text, or a code")
    parser.add_argument("--symptom", choices=tuple(SYMPTOMS), help="a checklist in place of a log")


def run(args: argparse.Namespace) -> Report:
    """Reads and reports."""
    return explain(*args.what, symptom=args.symptom)
