"""What a plan's runs find on this machine, asked once per wish: tier, versions, cards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ascend_workbook.batch.campaign.pool.cards import Cards, find_visible_cards
from ascend_workbook.batch.fingerprint import versions_of
from ascend_workbook.batch.plan.model import Item
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.report import TIERS
from ascend_workbook.machine import device


@dataclass(frozen=True)
class Here:
    """The device of a wish: `tier`, how many, and the versions that a result depends on."""

    tier: str
    count: int
    versions: dict[str, str]


def probe_device(device_name: str) -> Here:
    """Probe the device that a run asks for, once; it takes seconds, as children import torch. Raises WorkbookError
    where the wish cannot be had.
    """
    device_here = _probe_once(device_name)
    if isinstance(device_here, WorkbookError):
        raise device_here
    return device_here


@cache
def _probe_once(device_name: str) -> Here | WorkbookError:
    """Probe a device once and remember the answer, also the error."""
    try:
        found_device = device.find(device_name)
        return Here(found_device.tier, found_device.count, versions_of(found_device))
    except WorkbookError as error:
        return error


def requested_device(item: Item) -> str:
    """Return the device that the run asks for."""
    return item.parameters.get("device", "auto")


def is_lower_tier(tier: str, required: str) -> bool:
    """Return whether a tier is below the required one."""
    return bool(required) and TIERS.index(tier) > TIERS.index(required)


def cards_for(item: Item, here: Here, ids: tuple[int, ...]) -> Cards | None:
    """Return the cards from which a run is given its own, or None where it needs none.

    A simulated NPU is as many as one likes: it is shared unless the plan names `ids`.
    """
    kind = "npu" if here.tier.startswith("npu") else here.tier
    if item.cards == 0 or kind == "cpu" or (here.tier == "npu-simulated" and not ids):
        return None
    return Cards(kind, ids or find_visible_cards(kind, here.count))


def check_enough_cards(item: Item, cards: Cards) -> None:
    """Raise WorkbookError where a run needs more cards than there are."""
    if len(cards.ids) < item.cards:
        raise WorkbookError("plan.too_few_cards", run=item.name, wanted=item.cards, found=len(cards.ids))
