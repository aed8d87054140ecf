"""papermill reads and writes notebooks at `obs://` addresses: its handler of that scheme."""

from __future__ import annotations

from ascend_workbook.storage import ObsStorage
from ascend_workbook.storage.names import SCHEME, Address


class ObsNotebooks:
    """What papermill asks of a handler; https://papermill.readthedocs.io/en/latest/extending-entry-points.html"""

    @staticmethod
    def read(path: str) -> str:
        """Read a notebook's text. Raises FileNotFoundError, WorkbookError."""
        return ObsStorage(Address.parse(path)).bucket.read_object(Address.parse(path).key).decode("utf-8")

    @staticmethod
    def write(buf: str, path: str) -> None:
        """Write a notebook, whole."""
        address = Address.parse(path)
        ObsStorage(address).bucket.write_object(address.key, buf.encode("utf-8"))

    @staticmethod
    def listdir(path: str) -> list[str]:
        """List the whole addresses of what lies directly below an address."""
        address = Address.parse(path)
        return [str(address.join(name)) for name in ObsStorage(address).list_children()]

    @staticmethod
    def pretty_path(path: str) -> str:
        return path


def register_handler() -> None:
    """Register the handler with papermill, once in a process."""
    from papermill.iorw import papermill_io

    if not any(scheme == SCHEME for scheme, _ in papermill_io._handlers):
        papermill_io.register(SCHEME, ObsNotebooks)
