"""Collectives that nothing hides, and how their gradients travel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Scalar, Sentence
from ascend_workbook.machine.number_lists import is_number
from ascend_workbook.profiling import savings
from ascend_workbook.profiling.exposed import KINDS
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.figures import to_percent
from ascend_workbook.profiling.savings import advise_change, needs_device, needs_npu, read_environment, sending_share

BASIS = {"PRF312": "reasoned"}
WORTH = 0.03
HCCL_BUFFER = "https://www.hiascend.com/document/detail/en/canncommercial/850/commlib/hcclug/hcclug_000076.html"
DEFAULT_MB = 200
DDP = "https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html"
SMALL_NS, MANY, LARGE = 200_000, 20, 0.5
STEPS = 4


def check_communication(profile: Profile) -> Iterator[Finding]:
    """Does the step wait for collectives? Only what no computing hides counts: that is what overlapping could save.
    Where the profile tells that most of it is waiting for a rank that comes late, or exchange between two ranks
    (pipeline stages), that is named: neither buckets nor overlap shorten it."""
    share = profile.breakdown.share_of("communication")
    if not profile.trace.count_events("communication"):
        yield Finding("PRF312", Status.GOOD, "PRF312.none")
    elif profile.simulated:
        raise CannotCheck("PRF312.simulated", share=to_percent(share))
    else:
        what, part_ns = _largest_part(profile)
        total = profile.breakdown.total_ns
        finding = savings.grade_saving(
            profile, "PRF312", min(share, part_ns / total), worth=WORTH, good="hidden", bad=what
        )
        peer: Scalar = Sentence("ranks.of_its_group", number=profile.exposed.peer)
        peer = peer if profile.exposed.peer >= 0 else Sentence("ranks.nobody")
        yield replace(finding, args={**finding.args, "waited": peer, "whole": to_percent(share)})


def _largest_part(profile: Profile) -> tuple[str, float]:
    """Return what most of the exposed communication is, in nanoseconds of the steady steps: the rest is `exposed`."""
    exposed = profile.exposed
    total = profile.breakdown.total_ns
    whole = profile.breakdown.share_of("communication") * total
    pairwise = exposed.transmission_ns["pairwise"] + exposed.waiting_ns["pairwise"]
    parts = {"waiting": sum(exposed.waiting_ns.values()) - exposed.waiting_ns["pairwise"], "pairwise": pairwise}
    most = max(parts, key=parts.__getitem__)
    return (most, parts[most]) if 2 * parts[most] > whole and parts[most] >= WORTH * total else ("exposed", whole)


def check_hccl_buffer(profile: Profile) -> Iterator[Finding]:
    """Is HCCL's buffer smaller than what travels? It is 200 MB where HCCL_BUFFSIZE does not say otherwise."""
    needs_npu(profile, "PRF342")
    if not profile.trace.count_events("communication"):
        yield advise_change(profile, "PRF342.change", 0.0, HCCL_BUFFER)
        return
    setting = read_environment(profile, "HCCL_BUFFSIZE", "PRF342")
    share, waiting = sending_share(profile, *KINDS)
    mb = int(setting) if is_number(setting, 18) else DEFAULT_MB
    share = share if mb <= DEFAULT_MB else 0.0
    yield advise_change(profile, "PRF342.change", share, HCCL_BUFFER, worth=0.05, mb=mb, waiting=waiting)


def check_buckets(profile: Profile) -> Iterator[Finding]:
    """Do gradients travel in pieces of a fitting size? Too large a bucket has nothing left to hide behind, too small
    ones cost their start each."""
    needs_device(profile, "PRF398")
    spans, steps = profile.exposed.spans_ns, len(profile.breakdown.steady)
    calls = spans.size / steps
    middle = float(np.median(spans)) if spans.size else 0.0
    largest = float(spans.max() / spans.sum() * steps) if spans.size else 0.0
    sent, waiting = sending_share(profile, "gradients")
    key = "PRF398.small" if calls >= MANY and middle < SMALL_NS else "PRF398.large"
    share = sent if key == "PRF398.small" or min(1.0, largest) >= LARGE else 0.0
    args = {"calls": round(calls, 1), "middle_ms": profile.to_ms(middle), "largest": to_percent(min(1.0, largest))}
    yield advise_change(profile, key, share, DDP, waiting=waiting, **args)


def check_accumulation(profile: Profile) -> Iterator[Finding]:
    """Would fewer exchanges of gradients help? Accumulating K steps exchanges once instead of K times (no_sync). Only
    what sends gradients becomes less: not waiting for a late rank, not what pipeline stages send each other."""
    needs_device(profile, "PRF399")
    sent, waiting = sending_share(profile, "gradients")
    yield advise_change(profile, "PRF399.change", sent * (1 - 1 / STEPS), DDP, worth=0.05, steps=STEPS, waiting=waiting)


RULES = {
    "PRF312": check_communication,
    "PRF342": check_hccl_buffer,
    "PRF398": check_buckets,
    "PRF399": check_accumulation,
}
