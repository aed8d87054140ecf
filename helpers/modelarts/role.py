"""What this process of a job is to do: go on, leave to another, or stop because nobody can tell.

The preset engine ("RTF") starts the boot file once per card, with RANK_TABLE_FILE, RANK_ID and ASCEND_DEVICE_ID set;
MA_RUN_METHOD=torchrun starts it once per card too, with torchrun's variables; a custom image once per host.
Source: https://support.huaweicloud.com, develop-modelarts-1415 and develop-modelarts-0104.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from helpers.environment.launching import claims, contradictions, job
from helpers.environment.launching.rank_table import RankTable
from helpers.environment.system import Args
from helpers.errors import WorkbookError
from helpers.finding import Finding, Status

#: `workbook`: once in the whole job. `script`: once on each host, which torchrun then fills with ranks.
KINDS = ("workbook", "script")
#: lead: does the work. rank: one of many that the platform has started, each doing its part. leave: ends with 0.
ROLES = ("lead", "rank", "leave")


@dataclass(frozen=True)
class Role:
    """`key` and `args` say why, in words. `near`: the lead is on this host."""

    name: str
    key: str
    args: Args
    job: job.Job
    near: bool = True


def decide(kind: str, environ: Mapping[str, str], table: RankTable | None, cards: int, host: str) -> Role:
    """The role of this process. `cards`: how many /dev/davinci<N> there are; `host`: its own name.

    Raises WorkbookError `modelarts.contradiction`, `modelarts.which_host`, `modelarts.card`.
    """
    said = claims.read(environ, table, cards, host)
    found = job.describe(environ, said)
    must_agree(kind, list(contradictions.judge(environ, said, found, table)))
    if found.starter == "worker":
        return _worker(kind, found)
    card = own_card(environ) if found.starter in ("rtf", "platform") else 0
    if found.host_count > 1 and found.host_rank is None:
        raise WorkbookError("modelarts.which_host", hosts=found.host_count)
    if kind == "workbook" and found.host_rank:
        return Role("leave", "modelarts.leave_host", {"host": found.host_rank}, found, near=False)
    if card:
        return Role("leave", "modelarts.leave_card", {"card": card}, found)
    return Role("lead", "modelarts.lead", {"host": found.host_rank or 0, "hosts": found.host_count}, found)


def must_agree(kind: str, findings: list[Finding]) -> None:
    """Hosts and ranks that contradict each other wait for one another until a time-out: rather nothing is started.
    A rank table that does not fit is of no account where it is not used."""
    ignored = ("ENV112",) if kind == "workbook" else ()
    wrong = [one for one in findings if one.status is Status.FAIL and one.rule not in ignored]
    if wrong:
        first = max(wrong, key=lambda one: one.weight)
        raise WorkbookError("modelarts.contradiction", first={"say": first.key, "args": first.args}, count=len(wrong))


def own_card(environ: Mapping[str, str]) -> int:
    """Which of the host's starts this is; 0 goes on."""
    text = environ.get("ASCEND_DEVICE_ID", "").strip()
    if not re.fullmatch(r"\d{1,3}", text, re.ASCII):
        raise WorkbookError("modelarts.card")
    return int(text)


def _worker(kind: str, found: job.Job) -> Role:
    """Started by torchrun: of a script each rank does its part, the workbook runs in one of them."""
    args: Args = {"rank": found.rank, "world": found.world_size}
    if kind == "script":
        return Role("rank", "modelarts.rank", args, found)
    if found.rank is None:
        raise WorkbookError("modelarts.which_host", hosts=found.host_count)
    if found.rank:
        return Role("leave", "modelarts.leave_rank", args, found, near=not found.host_rank)
    return Role("lead", "modelarts.lead", {"host": 0, "hosts": found.host_count}, found)
