"""Facts of one GPU written into the code: peak FLOPS, bandwidth, and tables of them by the card's name.

The number is wrong on an NPU, and a table by name does not have it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.migration.reading.calls import string_value
from ascend_workbook.migration.reading.source import Source
from ascend_workbook.migration.repair import ANY, INFERRED, MANUAL, Findings, Known, finding_at

CODE = "MIG120"
KNOWN = Known(INFERRED, Sentence("migration.without.datasheet"), versions=ANY, hours={"peak": 0.25})
#: Peak FLOP/s of V100, A100, H100 and RTX cards as their data sheets give them.
PEAKS = {
    float(f"{tera}e12") for tera in "125 112 312 624 19.5 156 989 989.4 989.5 1979 82.6 165.2 71 142 15.7 14".split()
}
#: The last part of each way to write them: 312e12, 3.12e14, 3.12e+14.
MANTISSAS = {f"{peak / 10**power:g}".rpartition(".")[2] + f"e{power}" for peak in PEAKS for power in range(12, 16)}
TOKENS = {spelled for token in (*MANTISSAS, "0e12") for spelled in (token, token.upper())}
WORDS = ("e+12", "e+13", "e+14", "E+12", "E+13", "E+14")
#: Cards by the names that tables of their facts use.
CARDS = {"V100", "A100", "A800", "H100", "H800", "H200", "H20", "B200", "GB200", "A30", "A40", "L40S", "T4", "P100"}
TOKENS |= CARDS | {card.lower() for card in CARDS}


def check(source: Source) -> Findings:
    reported = set()
    for node in source.nodes_of_type(ast.Constant):
        text = source.text_of(node) if isinstance(node.value, float) and node.value in PEAKS else ""
        # with an exponent, as people write such figures
        if not TOKENS.isdisjoint(re.split(r"\W", text)) or any(word in text for word in WORDS):
            reported.add(node)
            yield finding_at(source, node, "MIG120.peak", MANUAL)
    for name, fact in _find_table_pairs(source):
        if fact not in reported and any(CARDS & set(re.split(r"[\W_]", word.upper())) for word in _read_words(name)):
            yield finding_at(source, fact, "MIG120.peak", MANUAL)


def _find_table_pairs(source: Source) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a table pairs: `{"A100": 312}` and `(["a100"], 312e12)`."""
    for table in source.nodes_of_type(ast.Dict):
        yield from ((key, value) for key, value in zip(table.keys, table.values) if key and _is_number(value))
    for pair in source.nodes_of_type(ast.Tuple):
        if len(pair.elts) == 2 and _is_number(pair.elts[1]):
            yield pair.elts[0], pair.elts[1]


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _read_words(node: ast.expr) -> list[str]:
    """The strings of `"a100"` or `["h100", "pcie"]`."""
    among = node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]
    return [text for text in map(string_value, among) if text]
