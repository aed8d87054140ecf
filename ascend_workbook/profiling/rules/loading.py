"""Where batches come from: loading, collating, copying, and their shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from ascend_workbook.findings.finding import Finding, Status
from ascend_workbook.findings.rules import CannotCheck
from ascend_workbook.findings.sentence import Sentence
from ascend_workbook.profiling.facts import Profile
from ascend_workbook.profiling.savings import advise_change, grade_saving, needs_device

BASIS = {"PRF313": "reasoned", "PRF315": "reasoned"}
LOADER = "https://docs.pytorch.org/docs/stable/data.html"
PINNED_SOURCE = "https://docs.pytorch.org/docs/stable/data.html#memory-pinning"
UNEVEN_SHAPES_SOURCE = "https://docs.pytorch.org/docs/stable/data.html#data-loading-order-and-sampler"
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


def check_loading(profile: Profile) -> Iterator[Finding]:
    """Does the step wait for its data? The time of a DataLoader's next() in which nothing else goes on. torch records
    it as `enumerate(DataLoader)#...__next__`. It is the host's time: without a device, or with a simulated one, it is
    as true as with an NPU, only its share of the step is another."""
    if not profile.conclusive:
        raise CannotCheck("PRF313.blind")
    if not profile.trace.count_events("loading"):
        raise CannotCheck("PRF313.unseen")
    bad = "waits" if profile.device_times else "host"
    yield grade_saving(profile, "PRF313", profile.breakdown.share_of("loading"), good="hidden", bad=bad)


def check_copies(profile: Profile) -> Iterator[Finding]:
    """Does the device wait for copies between host and device? Only what neither computing nor collectives hide."""
    if profile.tier == "cpu":
        yield Finding("PRF315", Status.GOOD, "PRF315.cpu")
        return
    if not profile.device_times:
        raise CannotCheck("PRF315.no_device")
    yield grade_saving(profile, "PRF315", profile.breakdown.share_of("copy"), good="hidden", bad="exposed")


def check_loader_workers(profile: Profile) -> Iterator[Finding]:
    """Does the training process load its data itself? Worker processes prepare the next batches meanwhile. torch names
    the iterator: _SingleProcessDataLoaderIter has no workers. https://docs.pytorch.org/docs/stable/data.html"""
    if not profile.conclusive:
        raise CannotCheck("advice.no_device", topic=Sentence("PRF394.topic"))
    if not profile.trace.count_events("loading"):
        raise CannotCheck("PRF394.unseen")
    alone = any("_SingleProcessDataLoaderIter" in name for name in profile.trace.names)
    share = profile.breakdown.share_of("loading")
    where = "" if profile.device_times else "_host"
    yield advise_change(profile, f"PRF394.{'alone' if alone else 'few'}{where}", share, LOADER)


def check_collating(profile: Profile) -> Iterator[Finding]:
    """Does the training process spend its loading on torch operators: decoding into floats, stacking a batch?
    Converting once for the whole batch, on the device, is cheaper than once for each sample (a fast collate)."""
    trace = profile.trace
    if not profile.conclusive or not trace.count_events("loading"):
        raise CannotCheck("PRF395.unseen")
    within = trace.step >= 0
    loading = trace.intervals_of(trace.where(("loading",)) & within)
    inside = trace.where(("host_op",)) & within
    inside[inside] = loading.cover_moments(trace.start_ns[inside])
    spent = trace.intervals_of(inside).length_ns / max(1, loading.length_ns)
    share = min(1.0, spent) * profile.breakdown.share_of("loading")
    key = "PRF395.change" if profile.device_times else "PRF395.change_host"
    yield advise_change(profile, key, share, LOADER, calls=round(int(inside.sum()) / len(trace.steps)))


def check_pinned(profile: Profile) -> Iterator[Finding]:
    """Are batches copied to the device from pageable memory? Only copies from pinned memory run beside other work."""
    needs_device(profile, "PRF396")
    copies = [name for name in profile.trace.names if name.startswith("Memcpy HtoD")]
    if profile.trace.dialect == "ascend" or (profile.trace.count_events("copy") and not copies):
        raise CannotCheck("PRF396.unseen")
    pageable = any("Pageable" in name for name in copies)
    share = profile.breakdown.share_of("copy") if pageable else 0.0
    yield advise_change(profile, "PRF396.change", share, PINNED_SOURCE)


def check_uneven_shapes(profile: Profile) -> Iterator[Finding]:
    """Do input shapes change from step to step? Then steps differ in length, and short samples pay for long ones'
    padding. A sampler that puts samples of like length into one batch (length-bucketed) evens them."""
    needs_device(profile, "PRF397")
    trace, steady = profile.trace, profile.breakdown.steady
    if len(steady) < 3 or not any(trace.shapes):
        raise CannotCheck("PRF397.unseen")
    numbers = {step.number for step in steady}
    at = [place for place, step in enumerate(trace.steps) if step.number in numbers]
    rows = trace.where(("host_op",)) & (trace.shape != 0) & trace.in_steps(numbers)
    # all pairs of step and shape at once, for steps may be many
    pairs = np.unique(trace.step[rows] * np.int64(len(trace.shapes)) + trace.shape[rows])
    step, shape = pairs // len(trace.shapes), pairs % len(trace.shapes)
    sets = {shape[first:last].tobytes() for first, last in zip(*(np.searchsorted(step, at, side) for side in SIDES))}
    fastest = min(step.total_ns for step in steady)
    share = 1 - fastest / (sum(step.total_ns for step in steady) / len(steady)) if len(sets) > 1 else 0.0
    yield advise_change(
        profile, "PRF397.change", share, UNEVEN_SHAPES_SOURCE, worth=0.03, steps=len(steady), sets=len(sets)
    )


RULES = {
    "PRF313": check_loading,
    "PRF315": check_copies,
    "PRF394": check_loader_workers,
    "PRF395": check_collating,
    "PRF396": check_pinned,
    "PRF397": check_uneven_shapes,
}
