"""Run the notebooks headless and write one index page: once, or as often as a plan says.

Executes environment, migration, precision and profiling through papermill into runs/NAME/, with the language and
the device of your choice. A stage that was good for the same inputs is reused; --force runs it again.

Examples:
  ascend-workbook run --name demo -p device auto -p script notebooks/scripts/resnet_digits.py
  ascend-workbook run --name night -p device npu -p steps 20 --force --json night.json
  ascend-workbook run --name zh --lang zh --stage environment --stage migration
  ascend-workbook run --name demo -p precision.steps 3
  ascend-workbook run plan.yaml --workers 2
  ascend-workbook run plan.yaml --list --skip-tag slow
  ascend-workbook run plan.yaml --reference references --bless
  ascend-workbook run plan.yaml --reference references
  ascend-workbook run plan.yaml --only "*resnet*" --shard 1/4
  ascend-workbook run --join runs/night
  ascend-workbook run --join obs://my-bucket/runs/night --against last
  ascend-workbook run plan.yaml --keep-red --deadline 28800
  ascend-workbook run plan.yaml --against last
  ascend-workbook run plan.yaml --scheduler tcp://10.0.0.1:8786 --root /mnt/shared/runs
  ascend-workbook run plan.yaml --root obs://my-bucket/runs

A plan is YAML; --list checks it and shows its runs. Everything that a plan may say:

  name: night                       # folder below runs/ (default: the file's name)
  workers: 2                        # runs side by side
  cards: [0, 1]                     # NPUs or GPUs that may be given out
  disk: 20GB                        # what the plan's folder may take
  lang: en                          # of all runs, as the next three
  stages: [environment, migration]  # default: all four
  parameters: {migration.steps: 4}  # each run takes what its notebooks declare; STAGE.NAME for one stage
  require: npu                      # a run on a lower tier is red: npu, npu-simulated, cuda, cpu
  defaults: {timeout: 30m, run_timeout: 2h, retries: 1, memory: 4GB, cards: 1, tags: [nightly]}
  matrix:                           # every combination is a run
    script: [notebooks/scripts/resnet_digits.py, notebooks/scripts/gpt_text.py]
    device: [cpu, auto]
    migration.look_at: ["", manual] # any parameter; stages and what stands under defaults too
    exclude: [{device: cpu, migration.look_at: manual}]
    include: [{device: auto, migration.look_at: manual, environment.matrix_size: 64}]
  runs:                             # and these, each with what stands under defaults, name, script, device, parameters
    - {name: long, script: notebooks/scripts/resnet_digits.py, parameters: {migration.steps: 9}, tags: [weekly]}
  tags: {digits: ["resnet*"]}       # by patterns of the run's name
  skip: [{run: "gpt_text-cpu*", reason: not worth the time}]
  expect:                           # a failure that is known: not red up to and with this day; bound by at least one of
    - {run: "gpt_text*", stage: migration, until: 2030-01-31, reason: see the operator list}
    - {run: long, state: timed_out, says: "ended after", until: 2030-01-31, reason: the disk of the night machine}
  targets: {metric: {name: loss, within: 1%}, throughput: {at_least: 80%}}

Paths are relative to the plan's own folder, then to the project. Times: 90s, 30m, 2h; sizes: 512MiB, 4GB.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from helpers import batch
from helpers.errors import WorkbookError
from helpers.report import Report

NAME = "run"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a YAML file that says which runs there shall be")
    parser.add_argument("--plan", dest="named", help=argparse.SUPPRESS)  # what many try first: told how it is written
    parser.add_argument("--workers", type=int, default=0, help="with PLAN: runs side by side (default: as it says)")
    _add_selection(parser)
    parser.add_argument(
        "--scheduler", default="", metavar="ADDRESS", help="with PLAN: do the runs on the Dask cluster at tcp://HOST:PORT"
    )
    told = "hold each good run's notebooks, through nbval, against DIR/LANG/RUN/STAGE.ipynb (rules: DIR/sanitize.cfg)"
    parser.add_argument("--reference", default="", metavar="DIR", help=f"with PLAN: {told}")
    parser.add_argument("--bless", action="store_true", help="with --reference: make them of this time's good runs")
    parser.add_argument("--keep-red", action="store_true", help="with PLAN: leave what was red, for all the same")
    parser.add_argument(
        "--deadline", type=float, default=0, metavar="SECONDS", help="with PLAN: end what goes on then (default: never)"
    )
    parser.add_argument("--against", default="", metavar="WHAT", help="with PLAN: what is newly red, fixed or slower "
                        "since `last` (the last complete time) or an earlier summary.json or its folder")  # fmt: skip
    parser.add_argument("--name", help="folder of the run below runs/ (default: demo)")
    parser.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="a notebook parameter; STAGE.NAME gives it to one stage only",
    )
    parser.add_argument(
        "--stage", action="append", choices=batch.STAGES, help="run this stage only (may be given more than once)"
    )
    parser.add_argument(
        "--root",
        default="runs",
        help="where run folders are kept (default: runs); with obs://bucket/prefix they are made in runs, and each part"
        " is sent there with its manifest when it has ended",
    )
    parser.add_argument("--force", action="store_true", help="run stages again that are already good")
    parser.add_argument("--timeout", type=int, metavar="SECONDS", help="time limit of a cell (default: 1800)")


def _add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--list", action="store_true", help="with PLAN: check it and show its runs; nothing starts")
    for option, what in (("--tag", "runs that have this tag"), ("--skip-tag", "no run that has this tag")):
        parser.add_argument(option, action="append", default=[], help=f"with PLAN: {what} (may be repeated)")
    for option, what in (("--only", "runs whose name it matches"), ("--skip", "no run whose name it matches")):
        told = f"with PLAN: {what}, with * and ? (may be repeated)"
        parser.add_argument(option, action="append", default=[], metavar="PATTERN", help=told)
    parser.add_argument("--shard", type=batch.parse_shard, metavar="I/N",
                        help="with PLAN: the I-th of N parts; a run's part hangs on its name alone")  # fmt: skip
    parser.add_argument("--join", nargs="+", default=[], metavar="DIR", help="make one page of all shards of a plan: "
                        "their folders or obs:// addresses, or the one that holds them")  # fmt: skip


def junit(report: Report) -> str | None:
    """What --junit writes: the file beside the page, which a run and a plan write by themselves; None: it has none."""
    page = report.facts.get("page")
    return Path(page).with_name("junit.xml").read_text(encoding="utf-8") if page else None


def run(args: argparse.Namespace) -> Report:
    if args.named is not None:
        raise WorkbookError("plan.no_option", plan=args.named)
    selection = batch.Selection(args.tag, args.skip_tag, args.only, args.skip, args.shard)
    own = {"--name": args.name, "-p": args.parameter, "--stage": args.stage, "--timeout": args.timeout}
    asked = (args.list, args.reference, args.bless, args.workers, args.scheduler, args.keep_red, args.deadline,
             selection != batch.Selection([], [], [], []))  # fmt: skip
    given = [name for name, value in own.items() if value not in (None, [])]
    if args.plan and given:
        raise WorkbookError("plan.says_itself", options=given)
    if args.plan and args.list:
        return batch.list_plan(args.plan, selection, lang=args.lang)
    if args.join:
        if args.plan or given or args.force or any(asked):
            raise WorkbookError("plan.join_alone")
        return batch.join(args.join, root=args.root, lang=args.lang, against=args.against)
    if not args.plan and (any(asked) or args.against):
        raise WorkbookError("plan.needed")
    if args.plan:
        return batch.run_plan(args.plan, workers=args.workers, root=args.root, lang=args.lang, force=args.force,
                              selection=selection, keep_red=args.keep_red, deadline_s=args.deadline,
                              against=args.against, scheduler=args.scheduler,
                              reference=args.reference, bless=args.bless)  # fmt: skip
    stages = tuple(stage for stage in batch.STAGES if not args.stage or stage in args.stage)
    return batch.run(
        "demo" if args.name is None else args.name,
        dict(args.parameter),
        stages=stages,
        lang=args.lang,
        root=args.root,
        force=args.force,
        timeout_s=1800 if args.timeout is None else args.timeout,
    )
