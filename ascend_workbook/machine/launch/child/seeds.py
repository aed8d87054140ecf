"""Seeds: sets them where the launch asks for it, and notes those the script sets itself."""

from __future__ import annotations

import functools
import random
from typing import Any

import torch

MOST = 40
_inside: list[str] = []  # torch.manual_seed seeds the accelerators by calling theirs: only the script's call counts


def force_seed(seed: int | None, deterministic: bool) -> None:
    """Seed random, numpy and torch before the script begins; the script may seed again."""
    if seed is not None:
        random.seed(seed)
        try:
            import numpy
        except ModuleNotFoundError:
            pass  # torch runs without numpy, and then the script has no numpy stream either
        else:
            numpy.random.seed(seed % 2**32)
        torch.manual_seed(seed)
    if deterministic:
        # warn_only: an operator without a deterministic form is named in the log and runs
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False


def watch_seeding(seedings: list[dict[str, Any]]) -> None:
    """Append `{"call": name, "seed": value}` for each seeding, up to 40."""
    places: list[tuple[Any, str, str]] = [(random, "seed", "random.seed"), (torch, "manual_seed", "torch.manual_seed")]
    places += [(torch.cuda, name, f"torch.cuda.{name}") for name in ("manual_seed", "manual_seed_all")]
    try:
        import numpy
    except ModuleNotFoundError:
        pass  # nothing to watch
    else:
        places.append((numpy.random, "seed", "numpy.random.seed"))
    for owner, name, shown in places:
        _wrap_seeding(owner, name, shown, seedings)


def _wrap_seeding(owner: Any, name: str, shown: str, seedings: list[dict[str, Any]]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def call_seeding(*args: Any, **kwargs: Any) -> Any:
        values = [*args, *kwargs.values()]
        entry = {"call": shown, "seed": values[0] if values and isinstance(values[0], int) else None}
        if not _inside and len(seedings) < MOST and entry not in seedings:
            seedings.append(entry)
        _inside.append(shown)
        try:
            return original(*args, **kwargs)
        finally:
            _inside.pop()

    setattr(owner, name, call_seeding)
