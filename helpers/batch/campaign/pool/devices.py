"""What a plan's runs find on this machine, asked once per wish: tier, versions, cards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from helpers import device
from helpers.batch.campaign.pool.cards import Cards, visible
from helpers.batch.fingerprint import versions_of
from helpers.batch.plan.model import Item
from helpers.errors import WorkbookError
from helpers.report import TIERS


@dataclass(frozen=True)
class Here:
    """The device of a wish: `tier`, how many, and the versions that a result depends on."""

    tier: str
    count: int
    versions: dict[str, str]


def probe(wanted: str) -> Here:
    """Seconds, once: children import torch. Raises WorkbookError where the wish cannot be had."""
    found = _asked(wanted)
    if isinstance(found, WorkbookError):
        raise found
    return found


@cache
def _asked(wanted: str) -> Here | WorkbookError:
    """What cannot be had is not asked for again either."""
    try:
        found = device.find(wanted)
        return Here(found.tier, found.count, versions_of(found))
    except WorkbookError as error:
        return error


def wish(item: Item) -> str:
    """The device that the run asks for."""
    return item.parameters.get("device", "auto")


def lower(tier: str, required: str) -> bool:
    """Whether the tier is not what is required, nor better."""
    return bool(required) and TIERS.index(tier) > TIERS.index(required)


def cards_for(item: Item, here: Here, ids: tuple[int, ...]) -> Cards | None:
    """The cards from which the run is given its own; None where it needs none.

    A simulated NPU is as many as one likes: it is shared unless the plan names `ids`.
    """
    kind = "npu" if here.tier.startswith("npu") else here.tier
    if item.cards == 0 or kind == "cpu" or (here.tier == "npu-simulated" and not ids):
        return None
    return Cards(kind, ids or visible(kind, here.count))


def enough(item: Item, cards: Cards) -> None:
    """Raises WorkbookError where the run needs more than there are."""
    if len(cards.ids) < item.cards:
        raise WorkbookError("plan.too_few_cards", run=item.name, wanted=item.cards, found=len(cards.ids))
