"""When a device computes, communicates, or does neither: what the lanes of "Overlap Analysis" show."""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[int, int]


def join_spans(spans: Iterable[Span]) -> list[Span]:
    """Return the spans joined where they touch, in order."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def subtract_spans(spans: list[Span], holes: list[Span]) -> list[Span]:
    """Return what of `spans` no hole covers; both are unions."""
    left: list[Span] = []
    at = 0
    for start, end in spans:
        while at < len(holes) and holes[at][1] <= start:
            at += 1
        inside = at
        while inside < len(holes) and holes[inside][0] < end:
            low, high = holes[inside]
            if low > start:
                left.append((start, low))
            start = max(start, high)
            inside += 1
        if start < end:
            left.append((start, end))
    return left


def gaps_between(spans: list[Span]) -> list[Span]:
    """Return the gaps between the spans of a union, where there is time between them."""
    return [(end, start) for (_, end), (start, _) in zip(spans, spans[1:])]
