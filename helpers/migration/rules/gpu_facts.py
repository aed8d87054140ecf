"""Facts of one GPU written into the code: peak FLOPS for utilisation figures. The number is wrong on an NPU."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from helpers.finding import Finding
from helpers.migration.knowledge import ANY, INFERRED, Known
from helpers.migration.reading.source import Source
from helpers.migration.repair import MANUAL, found

CODE = "MIG120"
KNOWN = Known(INFERRED, {"say": "migration.without.datasheet"}, versions=ANY, hours={"peak": 0.25})
#: Peak FLOP/s of V100, A100, H100 and RTX cards as their data sheets give them.
PEAKS = {
    125e12,
    112e12,
    312e12,
    624e12,
    19.5e12,
    156e12,
    989e12,
    989.4e12,
    989.5e12,
    1979e12,
    82.6e12,
    165.2e12,
    71e12,
    142e12,
    15.7e12,
    14e12,
}
#: The last part of each way to write them: 312e12, 3.12e14, 3.12e+14.
MANTISSAS = {f"{peak / 10**power:g}".rpartition(".")[2] + f"e{power}" for peak in PEAKS for power in range(12, 16)}
TOKENS = {spelled for token in (*MANTISSAS, "0e12") for spelled in (token, token.upper())}
WORDS = ("e+12", "e+13", "e+14", "E+12", "E+13", "E+14")
EXAMPLES = (("peak = 312e12  # A100 的峰值\n", "manual", None), ("mfu = flops / 989.5e12\n", "manual", None))
NEAR_MISSES = ("规模 = 1e12\n", "n = 312\n", "s = '312e12'\n")


def check(source: Source) -> Iterable[Finding]:
    for node in source.nodes(ast.Constant):
        if isinstance(node.value, float) and node.value in PEAKS and _is_written_out(source.segment(node)):
            yield found(source, node, "MIG120.peak", MANUAL)


def _is_written_out(text: str) -> bool:
    """With an exponent, as people write such figures."""
    return not TOKENS.isdisjoint(re.split(r"\W", text)) or any(word in text for word in WORDS)
