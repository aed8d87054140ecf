"""papermill reads and writes notebooks at `obs://` addresses: its handler of that scheme."""

from __future__ import annotations

from helpers.storage import ObsStorage
from helpers.storage.names import SCHEME, Address


class ObsNotebooks:
    """What papermill asks of a handler; https://papermill.readthedocs.io/en/latest/extending-entry-points.html"""

    @staticmethod
    def read(path: str) -> str:
        """A notebook's text. Raises FileNotFoundError, WorkbookError."""
        return ObsStorage(Address.of(path)).bucket.get(Address.of(path).key).decode("utf-8")

    @staticmethod
    def write(buf: str, path: str) -> None:
        """The notebook, whole."""
        address = Address.of(path)
        ObsStorage(address).bucket.put(address.key, buf.encode("utf-8"))

    @staticmethod
    def listdir(path: str) -> list[str]:
        """Whole addresses of what lies directly below one."""
        address = Address.of(path)
        return [str(address.below(name)) for name in ObsStorage(address).children()]

    @staticmethod
    def pretty_path(path: str) -> str:
        return path


def register() -> None:
    """Tells papermill of it, once in a process."""
    from papermill.iorw import papermill_io

    if not any(scheme == SCHEME for scheme, _ in papermill_io._handlers):
        papermill_io.register(SCHEME, ObsNotebooks)
