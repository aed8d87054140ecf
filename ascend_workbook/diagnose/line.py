"""One line of a log: which rank wrote it, when, and what is left without those marks.

Marks read: torchrun's `[rank1]:` and `[default0]:`, `[3]:` of mpirun, `worker-1:` of launchers over hosts, Ray's
`(Worker pid=7)`, what Kubernetes and vLLM's logger put in front, RankID of torch_npu's suffix, and times as Python's
logging, glog, transformers and CANN's plog write them.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

#: (month, day, hour, minute, second): glog writes no year.
Time = tuple[int, int, int, int, float]

COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
PREFIX = re.compile(
    r"(?:\[(?:rank|default|Rank ?)(?P<a>\d+)\]:?|\[(?P<b>\d+)\]:|\((?P<c>\w+(?: [\w=]+)? pid=\d+)[^)]*\)"
    r"|(?P<d>(?:rank|worker|node)[-_ ]?\d+) ?[:|]"
    r"|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)? (?:stdout|stderr) [FP]"
    r"|(?:ERROR|WARNING|INFO) \d\d-\d\d \d\d:\d\d:\d\d \[?\S+:\d+\]) ?"
)
RANK_ID = re.compile(r"RankID:(\d+)")
STAMP = re.compile(r"\b(?:\d{4}-)?(\d\d)-(\d\d)[-T ](\d\d):(\d\d):(\d\d)(?:[.,:](\d{1,6})(?:\.(\d{3}))?)?")
GLOG = re.compile(r"(?:^|\[)[IWEF](\d{1,2}?)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d+)")
AMERICAN = re.compile(r"\b(\d\d)/(\d\d)/\d{4} (\d\d):(\d\d):(\d\d)()")
#: Marks and times stand at the beginning.
HEAD = 200


class Line(NamedTuple):
    """`stream` is what stands in front of the line, `rank` that or the RankID in it; both may be empty.

    `message` keeps its indentation.
    """

    stream: str
    rank: str
    time: Optional[Time]
    message: str


def parse_line(text: str) -> Line:
    """Parse a line of a log without colours and marks; of a progress bar drawn over itself the last state is taken. Of
    a progress bar drawn over itself the last state is taken.
    """
    text = COLOUR.sub("", text) if "\x1b" in text else text
    text = text.rstrip("\r\n").rsplit("\r", 1)[-1]
    ranks: list[str] = []
    at = 0
    while match := PREFIX.match(text, at):
        ranks += [group for group in match.groups() if group and group not in ranks]
        at = match.end()
    message = text[at:]
    stream = "/".join(ranks)
    suffix = None if stream.isdigit() else RANK_ID.search(message[:HEAD])
    return Line(stream, suffix.group(1) if suffix else stream, find_time(text[:HEAD]), message)


def find_time(text: str) -> Time | None:
    """Find the first time in the text."""
    match = STAMP.search(text) or GLOG.search(text) or AMERICAN.search(text)
    if match is None:
        return None
    month, day, hour, minute, second, fraction = match.groups()[:6]
    return int(month), int(day), int(hour), int(minute), float(f"{second}.{fraction or 0}")
