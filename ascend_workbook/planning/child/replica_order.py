"""In which order a pipeline stage of Megatron runs its forward and backward passes."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace


def order_passes(spec: SimpleNamespace) -> Iterator[tuple[bool, int]]:
    """Yield the passes of a step in Megatron's order, one forward and one backward in turn once the pipeline is full:
    whether forward, and of which piece. Pieces take turns after as many micro batches as there are stages."""
    stages, chunks, behind = spec.pipeline, spec.chunks, spec.pipeline - spec.stage - 1
    most = 2 * stages if chunks > 1 else behind + 3  # the fullest moment has come by then
    total = min(spec.micro_batches, most) * chunks
    ahead = min(total, behind if chunks == 1 else 2 * behind + (chunks - 1) * stages)
    for number in range(total + ahead):
        if number < total:
            yield True, number % (stages * chunks) // stages
        if number >= ahead:
            yield False, chunks - 1 - (number - ahead) % (stages * chunks) // stages
