"""From hits to the first error of the first failing rank.

A rank's episode begins with its first strong hit and takes in the lines that belong to it: torch_npu's suffix, CANN's
codes, the exceptions that Python chained. Which rank failed first: by time where every episode has one; else the one
that torchrun calls the root cause; else one that does not merely wait for another; else the one written first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from ascend_workbook.diagnose.decode import CANN
from ascend_workbook.diagnose.known import Known
from ascend_workbook.diagnose.log import Time, parse_line, replace_zeros
from ascend_workbook.diagnose.scan import TRACEBACK, Hit, Scan

#: Lines further apart than this do not belong together; an episode's text ends after so many bytes and lines.
GAP_LINES, TEXT_BYTES, TEXT_LINES = 40, 65_536, 200
#: An exception that only says which library failed; CANN prints the cause beside it, without a rank in front.
WRAPPER = re.compile(r"HCCL|ACL|CANN|NPU|Ascend|error code|[Ii]nner error")


@dataclass(frozen=True)
class Episode:
    """One rank's first error: its hits in order, of which `main` says most."""

    hits: tuple[Hit, ...]
    main: Hit

    @property
    def known(self) -> Known | None:
        return self.main.known[0] if self.main.known else None

    @property
    def rank(self) -> str:
        """Return the rank, a number where any of its lines gives one (`worker-1` is a host)."""
        ranks = [hit.rank for hit in self.hits if hit.rank]
        return next((rank for rank in ranks if rank.isdigit()), ranks[0] if ranks else "")

    @property
    def time(self) -> Time | None:
        return next((hit.line.time for hit in self.hits if hit.line.time), None)

    @property
    def peer(self) -> bool:
        """Return whether the rank waits for another rank, so that one may have failed before."""
        return self.known is not None and self.known.peer

    def other_causes(self) -> list[tuple[Hit, Known]]:
        """Return the other causes that its lines name."""
        causes: dict[str, tuple[Hit, Known]] = {}
        for hit in self.hits:
            for entry in hit.known:
                if entry.specific and entry is not self.known:
                    causes.setdefault(entry.id, (hit, entry))
        return list(causes.values())


def find_episodes(scans: list[Scan]) -> list[Episode]:
    """Return an episode for each rank of each log that failed, in the order of logs and lines."""
    streams: dict[tuple[str, str], list[Hit]] = defaultdict(list)
    for scan in scans:
        for hit in scan.hits:
            streams[hit.log.name, hit.line.stream].append(hit)
    for (name, stream), hits in list(streams.items()):
        if not stream:
            tagged = [streams[key] for key in streams if key[0] == name and key[1]]
            streams[name, ""] = [hit for hit in hits if not _add_to_ranks(hit, tagged)]
    episodes = [episode for hits in streams.values() if (episode := _make_episode(hits)) is not None]
    order = {scan.log.name: number for number, scan in enumerate(scans)}
    return sorted(episodes, key=lambda episode: (order[episode.main.log.name], episode.main.number))


def _add_to_ranks(hit: Hit, tagged: list[list[Hit]]) -> bool:
    """Add CANN's line without a rank to ranks whose wrapper error it stands beside; return whether there are any."""
    if not (CANN.search(hit.line.message) and any(entry.specific for entry in hit.known)):
        return False
    ranks = [
        hits
        for hits in tagged
        if any(
            _is_wrapper(other) and other.first - GAP_LINES <= hit.number <= other.number + GAP_LINES for other in hits
        )
    ]
    for hits in ranks:
        hits.append(hit)
        hits.sort(key=lambda other: other.number)
    return bool(ranks)


def _is_wrapper(hit: Hit) -> bool:
    return hit.strong and not any(entry.specific for entry in hit.known) and bool(WRAPPER.search(hit.line.message))


def first_failing(episodes: list[Episode], root_rank: str = "") -> Episode:
    """Return the episode that began it; `root_rank` is what torchrun says, or empty."""
    if all(episode.time for episode in episodes):
        return min(episodes, key=lambda episode: episode.time or ())
    episodes_of_rank = [episode for episode in episodes if root_rank and episode.rank == root_rank]
    pool = episodes_of_rank or episodes
    return next((episode for episode in pool if not episode.peer), pool[0])


def read_text(episode: Episode) -> list[tuple[int, str]]:
    """Return (line number, message) of the episode's own rank, from its first line to the last that belongs to it."""
    begin = episode.hits[0]
    with begin.log.open_stream() as stream:
        stream.seek(begin.start)
        raw = replace_zeros(stream.read(TEXT_BYTES)).decode("utf-8", errors="replace")
    last = max(hit.number for hit in episode.hits) + GAP_LINES
    lines = [(begin.first + number, parse_line(text)) for number, text in enumerate(raw.split("\n"))]
    own_numbers = {hit.first for hit in episode.hits}
    own_lines: list[tuple[int, str]] = []
    for number, line in lines:
        if line.stream == begin.line.stream and number <= last:
            if TRACEBACK in line.message and number not in own_numbers:  # none of this episode's
                break
            own_lines.append((number, line.message))
    del own_lines[TEXT_LINES:]
    while own_lines and not own_lines[-1][1].strip():
        own_lines.pop()
    return own_lines


def _make_episode(hits: list[Hit]) -> Episode | None:
    """Make an episode from a stream's first strong hit on; None where it has none."""
    at = next((number for number, hit in enumerate(hits) if hit.strong), None)
    if at is None:
        return None
    hits_taken = [hits[at]]
    for hit in hits[at + 1 :]:
        another = hit.first < hit.number and not hit.chained
        if another or hit.first - hits_taken[-1].number > GAP_LINES:
            break
        hits_taken.append(hit)
    return Episode(tuple(hits_taken), max(hits_taken, key=_weigh_hit))


def _weigh_hit(hit: Hit) -> int:
    """Weigh a hit: a narrow cause, a broad one, another rank's, a kind of error, the rest."""
    best = hit.known[0] if hit.known else None
    if best is None or not best.specific:
        return int(best is not None and best.severity == "info")
    return 2 if best.peer else 3 if best.broad else 4
