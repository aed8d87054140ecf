"""What a run is told, as a file: `order.json` in its folder, read by the process that does it, here or elsewhere."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ascend_workbook.batch.campaign.pool.devices import Here
from ascend_workbook.batch.plan.model import Item
from ascend_workbook.storage import open_storage

FILE = "order.json"


@dataclass(frozen=True)
class Order:
    """`start` names the start of the plan that gave it; `here` is its device where that is known; `card_ids` those that
    the plan names; `until` the moment of this machine's time.monotonic() at which the plan ends (0: never); `force`
    runs again what is good, `keep_red` leaves what is red."""

    item: Item
    root: str
    notebooks: str
    start: str
    force: bool = False
    keep_red: bool = False
    here: Here | None = None
    card_ids: tuple[int, ...] = ()
    until: float = 0.0

    @property
    def folder(self) -> Path:
        """Where the run's results go."""
        return Path(self.root, self.item.name)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    def save_order(self, **changes: Any) -> Path:
        """Write the order, with these changes, into the run's folder."""
        open_storage(str(self.folder)).write_text(FILE, replace(self, **changes).to_json())
        return self.folder / FILE


def read_order(text: str) -> Order:
    """Read an order from its JSON text."""
    content: dict[str, Any] = json.loads(text)
    item = content["item"]
    here = content["here"]
    lists = {name: tuple(item[name]) for name in ("stages", "tags")}
    return Order(
        **{
            **content,
            "item": Item(**{**item, **lists}),
            "here": Here(**here) if here else None,
            "card_ids": tuple(content["card_ids"]),
        }
    )
