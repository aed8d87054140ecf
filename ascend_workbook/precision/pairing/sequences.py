"""Two sequences aligned: which positions belong together, in order, in time linear in their length.

Myers' O(ND) algorithm: linear where few elements differ. Where many do, it is run window after window, each begun
where the one before is certain. Source: E. W. Myers, An O(ND) difference algorithm, Algorithmica 1 (1986).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

#: Differences up to which the whole is aligned at once; elements of a window; how much of it counts as certain.
DIFFERENCES, WINDOW, CERTAIN = 400, 600, 300

Keys = Sequence[Hashable]
Matches = list[tuple[int, int]]


def align_keys(left: Keys, right: Keys) -> Matches:
    """Return pairs of positions with equal keys, ascending on both sides."""
    head = 0
    while head < min(len(left), len(right)) and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < min(len(left), len(right)) - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    middle = _align_middle(left[head : len(left) - tail], right[head : len(right) - tail])
    matches = [(at, at) for at in range(head)] + [(a + head, b + head) for a, b in middle]
    return matches + [(len(left) - at, len(right) - at) for at in range(tail, 0, -1)]


def find_gaps(matches: Matches, left: int, right: int) -> list[tuple[int, int, int, int]]:
    """Find what lies between matches on both sides: (from, to) of the left and of the right, where both have
    something.
    """
    places, a, b = [], 0, 0
    for i, j in [*matches, (left, right)]:
        if i > a and j > b:
            places.append((a, i, b, j))
        a, b = i + 1, j + 1
    return places


def _align_middle(left: Keys, right: Keys) -> Matches:
    if not left or not right:
        return []
    common = set(left) & set(right)
    if not common:
        return []
    # what the other side never has cannot match: without it fewer differences are left
    places = [[at for at, key in enumerate(side) if key in common] for side in (left, right)]
    keys = [[side[at] for at in numbers] for side, numbers in zip((left, right), places)]
    matches = _align_by_myers(keys[0], keys[1], DIFFERENCES)
    if matches is None:
        matches = _align_windows(keys[0], keys[1])
    return [(places[0][i], places[1][j]) for i, j in matches]


def _align_windows(left: Keys, right: Keys) -> Matches:
    matches: Matches = []
    a = b = 0
    while a < len(left) and b < len(right):
        part = _align_by_myers(left[a : a + WINDOW], right[b : b + WINDOW], 2 * WINDOW) or []
        last = a + WINDOW >= len(left) and b + WINDOW >= len(right)
        sure = part if last else [(i, j) for i, j in part if i < CERTAIN and j < CERTAIN]
        matches += [(a + i, b + j) for i, j in sure]
        if last:
            break
        step = (sure[-1][0] + 1, sure[-1][1] + 1) if sure else (CERTAIN, CERTAIN)
        a, b = a + step[0], b + step[1]
    return matches


def _align_by_myers(left: Keys, right: Keys, limit: int) -> Matches | None:
    """Find the longest common subsequence, or return None where more than `limit` elements are left over."""
    ends = {1: 0}
    trace: list[dict[int, int]] = []
    for depth in range(min(limit, len(left) + len(right)) + 1):
        trace.append(ends.copy() if depth else {1: 0})
        for k in range(-depth, depth + 1, 2):
            down = k == -depth or (k != depth and ends[k - 1] < ends[k + 1])
            i = ends[k + 1] if down else ends[k - 1] + 1
            while i < len(left) and i - k < len(right) and left[i] == right[i - k]:
                i += 1
            ends[k] = i
            if i >= len(left) and i - k >= len(right):
                return _trace_matches(trace, len(left), len(right))
    return None


def _trace_matches(trace: list[dict[int, int]], i: int, j: int) -> Matches:
    matches: Matches = []
    for depth in range(len(trace) - 1, -1, -1):
        ends, k = trace[depth], i - j
        down = k == -depth or (k != depth and ends[k - 1] < ends[k + 1])
        before = k + 1 if down else k - 1
        at = ends[before] if depth else 0
        while (
            i > at and j > at - before and i > 0 and j > 0 and (depth == 0 or (i, j) != _end_of_step(at, before, down))
        ):
            i, j = i - 1, j - 1
            matches.append((i, j))
        i, j = at, at - before
    return matches[::-1]


def _end_of_step(at: int, before: int, down: bool) -> tuple[int, int]:
    """Return where the step from diagonal `before` leads."""
    j = at - before
    return (at, j + 1) if down else (at + 1, j)
