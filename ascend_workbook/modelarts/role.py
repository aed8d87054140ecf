"""What this process of a job is to do: go on, leave to another, or stop because nobody can tell.

The preset engine ("RTF") starts the boot file once per card, with RANK_TABLE_FILE, RANK_ID and ASCEND_DEVICE_ID set;
MA_RUN_METHOD=torchrun starts it once per card too, with torchrun's variables; a custom image once per host.
Source: https://support.huaweicloud.com, develop-modelarts-1415 and develop-modelarts-0104.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ascend_workbook.environment.launching import claims, job
from ascend_workbook.environment.launching.rank_table import RankTable
from ascend_workbook.environment.launching.report import judge_claims
from ascend_workbook.environment.system import Args
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.sentence import Sentence

#: `workbook`: once in the whole job. `script`: once on each host, which torchrun then fills with ranks.
KINDS = ("workbook", "script")


@dataclass(frozen=True)
class Role:
    """`key` and `args` say why, in words. `near`: the lead is on this host. `name` is lead, which does the work, rank,
    one of many that the platform has started, each doing its part, or leave, which ends with 0."""

    name: str
    key: str
    args: Args
    job: job.Job
    near: bool = True


def decide_role(kind: str, environ: Mapping[str, str], table: RankTable | None, cards: int, host: str) -> Role:
    """Decide the role of this process. `cards`: how many /dev/davinci<N> there are; `host`: its own name. Raises
    WorkbookError `modelarts.contradiction`, `modelarts.which_host`, `modelarts.card`."""
    claims_read = claims.read_claims(environ, table, cards, host)
    described_job = job.describe_job(environ, claims_read)
    findings = list(judge_claims(environ, claims_read, described_job, table))
    # they would wait for one another until a time-out; a rank table is of no account where it is not used
    ignored = ("ENV112",) if kind == "workbook" else ()
    wrong = [finding for finding in findings if finding.status is Status.FIX and finding.rule not in ignored]
    if wrong:
        first = max(wrong, key=lambda finding: finding.weight)
        raise WorkbookError("modelarts.contradiction", first=Sentence(first.key, **first.args), count=len(wrong))
    if described_job.starter == "worker":
        args: Args = {"rank": described_job.rank, "world": described_job.world_size}
        if kind == "script":
            return Role("rank", "modelarts.rank", args, described_job)
        if described_job.rank is None:
            raise WorkbookError("modelarts.which_host", hosts=described_job.host_count)
        if described_job.rank:
            return Role("leave", "modelarts.leave_rank", args, described_job, near=not described_job.host_rank)
        return Role("lead", "modelarts.lead", {"host": 0, "hosts": described_job.host_count}, described_job)
    text = environ.get("ASCEND_DEVICE_ID", "").strip() if described_job.starter in ("rtf", "platform") else "0"
    if not re.fullmatch(r"\d{1,3}", text, re.ASCII):  # which of the host's starts this is; 0 goes on
        raise WorkbookError("modelarts.card")
    card = int(text)
    if described_job.host_count > 1 and described_job.host_rank is None:
        raise WorkbookError("modelarts.which_host", hosts=described_job.host_count)
    if kind == "workbook" and described_job.host_rank:
        return Role("leave", "modelarts.leave_host", {"host": described_job.host_rank}, described_job, near=False)
    if card:
        return Role("leave", "modelarts.leave_card", {"card": card}, described_job)
    args = {"host": described_job.host_rank or 0, "hosts": described_job.host_count}
    return Role("lead", "modelarts.lead", args, described_job)
