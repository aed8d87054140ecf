"""One rank of many, without the others: a store that answers for them, groups on the host that count nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d

#: What a key holds that only an absent rank would have set: long enough for the root info of HCCL.
IMAGINED = b"\0" * 4108
#: Stores live as long as the process: C++ holds their native half alone.
_stores: list[AloneStore] = []


class AloneStore(dist.Store):  # type: ignore[misc]
    """A store of one process: what was set is given back, what another rank would set is made up."""

    def __init__(self, world_size: int) -> None:
        super().__init__()
        self._world_size = world_size
        _stores.append(self)
        self._values: dict[str, bytes] = {}

    def set(self, key: str, value: str | bytes) -> None:
        self._values[key] = value.encode() if isinstance(value, str) else bytes(value)

    def get(self, key: str) -> bytes:
        return self._values.get(key, IMAGINED)

    def add(self, key: str, value: int) -> int:
        """Count, as if all ranks had: who waits for the last one goes on."""
        count = int(self._values.get(key, b"0")) + value
        self._values[key] = str(count).encode()
        return max(count, self._world_size) if value > 0 else count

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        return self._values.setdefault(key, desired.encode())

    def wait(self, *_: object) -> None:
        """Wait for nobody."""

    def check(self, keys: list[str]) -> bool:
        return True

    def delete_key(self, key: str) -> bool:
        return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        return len(self._values)

    def set_timeout(self, timeout: timedelta) -> None:
        """Nothing here takes time."""

    def clone(self) -> AloneStore:
        return self


def imagine_peers() -> None:
    """Make torch.distributed begin without the other ranks."""

    def meet_nobody(*_: object, **__: object) -> Iterator[tuple[dist.Store, int, int]]:
        rank, world_size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        yield AloneStore(world_size), rank, world_size

    handlers = import_module(
        "torch.distributed.rendezvous"
    )._rendezvous_handlers  # torch.distributed.rendezvous is a function
    for scheme in list(handlers):
        handlers[scheme] = meet_nobody
    dist.TCPStore = distributed_c10d.TCPStore = _make_store
    distributed_c10d.ProcessGroupGloo = _make_group_on_host
    ordinary = distributed_c10d.broadcast_object_list

    def broadcast_object_list(object_list: list[Any], src: int | None = None, *args: Any, **kwargs: Any) -> None:
        """Send what this rank holds; from another rank nothing comes, and the list stays as it is."""
        if src is None or src == dist.get_rank():
            ordinary(object_list, src, *args, **kwargs)

    dist.broadcast_object_list = distributed_c10d.broadcast_object_list = broadcast_object_list


def _make_store(*args: Any, **kwargs: Any) -> AloneStore:
    return AloneStore(int(os.environ.get("WORLD_SIZE", "1")))


def _make_group_on_host(store: dist.Store, rank: int, size: int, *_: object, **__: object) -> Any:
    from torch._C._distributed_c10d import FakeProcessGroup

    return (
        FakeProcessGroup._create_internal(rank, size)
        if hasattr(FakeProcessGroup, "_create_internal")
        else FakeProcessGroup(rank, size)
    )
