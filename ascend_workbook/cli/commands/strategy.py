"""The command line of `plan`: strategies for a model on so many cards."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.planning.strategy.choice import FRAMEWORKS
from ascend_workbook.planning.strategy.verb import plan

VERBS = {
    "plan": Verb(
        plan,
        {
            "cards": Row("--cards", metavar="N"),
            "nodes": "N",
            "chip": "NAME",
            "memory": "SIZE",
            "batch": "SEQUENCES",
            "seq": "N",
            "framework": Row(choices=FRAMEWORKS),
            "tokens": "N",
            "prices": "FILE",
            "prices_template": "FILE",
            "hyper": Row(metavar=("NAME", "VALUE"), nargs=2),
        },
    ),
}
