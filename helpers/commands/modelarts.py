"""Describe a ModelArts training job, rehearse it here, and make links that open a notebook in ModelArts.

`job` prints the request of ModelArts' API (POST /v2/{project_id}/training-jobs): code directory, boot file, parameters,
inputs and outputs, variables, image; --body writes it alone. Nothing is sent, and it holds no credentials. --dry-run
plays the image on this machine (folders, user ma-user where it may, no sudo, the variables of the preset engine, of
torchrun, of a custom image and of a notebook) and says which process would do what; nothing of it needs an account.
`link` prints the console's address for a public notebook's, unverified and of the region cn-north-4 alone, as all
public ones are; elsewhere upload the file. docs/modelarts-notebook.md goes on from there.

Examples:
  ascend-workbook modelarts job --code obs://bkt/workbook --out obs://bkt/out --flavor modelarts.x --engine-id pytorch-x
  ascend-workbook modelarts job --code obs://bkt/code --out obs://bkt/out --flavor f --image swr.x/org/i --body j.json
  ascend-workbook modelarts job --code obs://bkt/code --out obs://bkt/out --flavor f --engine-id e --dry-run
  ascend-workbook modelarts job --code obs://bkt/c --out obs://bkt/o --flavor f --engine-id e --script t.py --dry-run
  ascend-workbook modelarts link https://notebooks.example.com/zh/01_environment.ipynb
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from helpers.commands import add_outputs
from helpers.errors import WorkbookError
from helpers.modelarts import JobRequest, describe, launch_links, rehearse
from helpers.report import Report
from helpers.storage import write_file
from helpers.words import say

NAME = "modelarts"
MOST_CARDS = 16


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    job = actions.add_parser("job", help="print the job's request, or rehearse it with --dry-run")
    job.add_argument("--name", default="ascend-workbook", help="name of the job (default: ascend-workbook)")
    job.add_argument("--code", required=True, metavar="OBS", help="where this project was uploaded: obs://bucket/folder")
    job.add_argument("--out", required=True, metavar="OBS", help="where results go (train_url)")
    job.add_argument("--data", default="", metavar="OBS", help="what is brought in (data_url)")
    job.add_argument("--logs", default="", metavar="OBS", help="where the platform keeps the job's logs")
    job.add_argument("--flavor", required=True, metavar="ID", help="the resource's flavor_id")
    job.add_argument("--pool", default="", metavar="ID", help="a resource pool of your own")
    job.add_argument("--nodes", type=int, default=1, help="how many hosts (default: 1)")
    job.add_argument("--image", default="", metavar="SWR", help="an image of your own, by its address in SWR")
    job.add_argument("--engine-id", default="", metavar="ID", help="a preset image; one of --image and this")
    what = job.add_mutually_exclusive_group()
    what.add_argument("--command", default="run --name job -p device npu", metavar="VERB",
                      help="the verb that runs, once in the job, with its arguments")  # fmt: skip
    what.add_argument("--script", default="", help="a training script and its arguments, by torchrun on every host")
    job.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable (may be repeated)")
    job.add_argument("--body", type=Path, metavar="FILE", help="write the request alone as JSON")
    job.add_argument("--dry-run", action="store_true", help="rehearse it in an imitation of the image")
    job.add_argument("--cards", type=int, default=2, help="with --dry-run: NPUs of each host (default: 2)")
    add_outputs(job)
    link = actions.add_parser("link", help="print the address that opens a notebook in ModelArts")
    link.add_argument("notebook", nargs="*", metavar="URL", help="a public https address; none: those that are hosted")
    link.add_argument("--image", default="", metavar="ID", help="the image to open it in, a UUID (default: none)")
    add_outputs(link)


def run(args: argparse.Namespace) -> Report:
    """Describes, writes the request where asked, and rehearses where asked; or makes links."""
    if args.action == "link":
        return launch_links(args.notebook, args.image)
    if not 1 <= args.cards <= MOST_CARDS:
        raise WorkbookError("modelarts.cards_range", cards=args.cards, most=MOST_CARDS)
    pairs = [text.partition("=") for text in args.env]
    wrong = next((name for name, separator, _ in pairs if not separator), None)
    if wrong is not None:
        raise WorkbookError("modelarts.env_form", text=wrong)
    request = JobRequest(
        name=args.name, code=args.code, out=args.out, flavor=args.flavor, data=args.data, logs=args.logs,
        image=args.image, engine_id=args.engine_id, command=args.command, script=args.script, nodes=args.nodes,
        pool=args.pool, environment={name: value for name, _, value in pairs},
    )  # fmt: skip
    report = describe(request)
    if args.body:
        target = args.body.resolve()
        text = json.dumps(report.facts["request"], indent=2, ensure_ascii=False) + "\n"
        write_file(target, text)
        print(say("modelarts.body_written", args.lang, path=str(target)), file=sys.stderr)
    return rehearse(request, cards=args.cards) if args.dry_run else report
