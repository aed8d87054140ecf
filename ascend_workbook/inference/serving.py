"""`serving`: how many requests of a language model a card's memory holds, by formula; an estimate, as an interval."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_workbook.estimates.chips import find_chip
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.report import Column, Report, Table
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.planning.card import GIB, outside_bytes, parse_memory, seen_bytes
from ascend_workbook.planning.strategy.model import Model
from ascend_workbook.planning.strategy.reading import read_model

#: Bytes of a number; of eight bits beside them scales, a float32 for each row of weights or vector of the cache.
WIDTHS = {"16": 2.0, "8": 1.0}
#: Shares of what is left beside weights that activations, workspaces and gaps between blocks take: from none that is
#: known of to a fifth. No public figure of an NPU's server was found: an assumption.
LEAST_TAKEN, MOST_TAKEN = 0.0, 0.2
COLUMNS = ("memory_part", "least_gib", "most_gib")


@dataclass(frozen=True)
class Held:
    """Bytes of a card: what PyTorch sees, weights, what lies outside (least, most), and one token's cache."""

    seen: int
    weights: float
    outside: tuple[int, int]
    token: float

    def count_tokens(self) -> tuple[int, int]:
        """Return how many tokens the cache holds at least and at most; none where the weights do not fit."""
        least = (self.seen - self.outside[1] - self.weights) * (1 - MOST_TAKEN)
        most = (self.seen - self.outside[0] - self.weights) * (1 - LEAST_TAKEN)
        return max(0, int(least / self.token)), max(0, int(most / self.token))


def serving(
    model: str,
    *,
    chip: str = "910B3",
    memory: str | None = None,
    tp: int = 1,
    length: int = 4096,
    batch: int = 0,
    weights: str = "16",
    kv: str = "16",
) -> Report:
    """Estimates how many requests of `length` tokens a card's memory holds beside a model's weights.

    `model` is a short name or a config.json of Hugging Face; `tp` the cards of tensor parallelism, `weights` and `kv`
    the bits of weights and of the key-value cache (16, or 8 for W8 and KV8: embeddings and the output layer stay 16).
    `batch` are the requests at once that must fit (0: none is asked for). Memory alone, no time; the interval is that
    of what lies beside weights and cache. Raises WorkbookError for what cannot be read or does not divide."""
    dimensions, _ = read_model(model)
    _check_numbers(dimensions, tp, length, batch)
    held = _hold(dimensions, seen_bytes(parse_memory(memory, find_chip(chip))), tp, WIDTHS[weights], WIDTHS[kv])
    tokens = held.count_tokens()
    requests = tokens[0] // length, tokens[1] // length
    args: dict[str, Scalar] = {"model": dimensions.name, "least": requests[0], "most": requests[1], "length": length}
    args |= {"tp": tp, "batch": batch, "weights": f"{held.weights / GIB:.1f}", "seen": f"{held.seen / GIB:.1f}"}
    if not requests[1]:
        finding = Finding("INF630", Status.FIX, "INF630.none", args, weight=300)
    elif not requests[0] or batch > requests[0]:
        status, word = (Status.FIX, "too_many") if batch > requests[1] else (Status.LOOK, "unsure")
        finding = Finding("INF630", status, f"INF630.{word}", args, weight=300)
    else:
        finding = Finding("INF630", Status.GOOD, "INF630.fits", args, weight=300)
    about: dict[str, Scalar] = {"token": f"{held.token / 1024:.1f}", "most": f"{100 * MOST_TAKEN:.0f}"}
    findings = (finding, Finding("INF631", Status.NOTE, "INF631.basis", about, weight=100))
    facts = {"requests": list(requests), "tokens": list(tokens), "weight_bytes": held.weights, "estimated": True}
    facts["token_bytes"] = held.token
    return Report("inference", "serving", findings, _tabulate(held), facts=facts, answers=("INF630",))


def _check_numbers(model: Model, tp: int, length: int, batch: int) -> None:
    if tp < 1 or model.heads % tp:
        raise WorkbookError("inference.bad_tp", tp=tp, heads=model.heads)
    if model.latent is None and model.kv_heads % tp and tp % model.kv_heads:
        raise WorkbookError("inference.bad_tp_cache", tp=tp, heads=model.kv_heads)
    if length < 1 or batch < 0:
        raise WorkbookError("inference.bad_length", length=length, batch=batch)
    if model.positions and length > model.positions:
        raise WorkbookError("inference.too_long", length=length, positions=model.positions)


def _hold(model: Model, seen: int, tp: int, weight_bytes: float, kv_bytes: float) -> Held:
    """Return what a card holds of the model, spread over `tp` cards."""
    tables = model.hidden * model.vocabulary * (1 if model.tied else 2)
    inner = model.parameters - tables
    scales = 4 * inner / model.hidden if weight_bytes < 2 else 0.0
    weights = (2 * tables + weight_bytes * inner + scales) / tp
    if model.latent is not None:  # one narrow vector a token, on every card
        numbers, vectors = model.latent.key_rank + model.latent.rotated_dim, 1.0
    else:
        heads = max(1, model.kv_heads // tp)  # fewer heads than cards: each card keeps one
        numbers, vectors = 2 * heads * model.head_dim, 2.0 * heads
    token = model.layers * (numbers * kv_bytes + (4 * vectors if kv_bytes < 2 else 0.0))
    return Held(seen, weights, outside_bytes(1 if tp > 1 else 0), token)


def _tabulate(held: Held) -> Table:
    left = [
        (held.seen - outside - held.weights) * (1 - taken)
        for outside, taken in ((held.outside[1], MOST_TAKEN), (held.outside[0], LEAST_TAKEN))
    ]
    parts = {
        "seen": (held.seen, held.seen),
        "weights": (held.weights, held.weights),
        "outside": held.outside,
        "cache": tuple(max(0.0, size) for size in left),
    }
    rows = tuple(
        (Sentence(f"inference.part_{name}"), round(least / GIB, 2), round(most / GIB, 2))
        for name, (least, most) in parts.items()
    )
    return Table(tuple(map(Column, COLUMNS)), rows)
