"""Does the training process load its data itself? Worker processes prepare the next batches meanwhile.

torch names the iterator: _SingleProcessDataLoaderIter has no workers. https://docs.pytorch.org/docs/stable/data.html
"""

from __future__ import annotations

from collections.abc import Iterator

from helpers.finding import Finding
from helpers.profiling.facts import Profile
from helpers.profiling.savings import advice
from helpers.rules import CannotCheck

CODE = "PRF394"
SOURCE = "https://docs.pytorch.org/docs/stable/data.html"


def check(profile: Profile) -> Iterator[Finding]:
    if not profile.conclusive:
        raise CannotCheck("advice.no_device", topic={"say": "PRF394.topic"})
    if not profile.trace.count("loading"):
        raise CannotCheck("PRF394.unseen")
    alone = any("_SingleProcessDataLoaderIter" in name for name in profile.trace.names)
    share = profile.breakdown.share("loading")
    where = "" if profile.device_times else "_host"
    yield advice(profile, f"PRF394.{'alone' if alone else 'few'}{where}", share, SOURCE)
