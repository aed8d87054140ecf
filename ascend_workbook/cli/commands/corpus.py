"""The command line of `inspect-data`: a training corpus, record by record."""

from __future__ import annotations

from ascend_workbook.cli.options import Row, Verb
from ascend_workbook.precision.corpus.verb import CLASSES, inspect_data

VERBS = {
    "inspect-data": Verb(
        inspect_data,
        {
            "files": Row("files", metavar="FILES", nargs="+"),
            "field": "NAME",
            "languages": "LIST",
            "shortest": "N",
            "longest": "N",
            "words": "FILE",
            "test": Row(metavar="FILE"),
            "model": "DIR",
            "out": "DIR",
            "spike": "STEPS",
            "batch": "N",
            "fail_on": Row(metavar="CLASS", choices=CLASSES),
        },
    ),
}
