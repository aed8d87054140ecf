"""papermill's handlers: of notebooks at `obs://` addresses, and of those it writes here, without credentials."""

from __future__ import annotations

from ascend_workbook.redaction.exits import redact_file
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
        ObsStorage(address).bucket.write_object(address.key, redact_file(path, buf).encode("utf-8"))

    @staticmethod
    def listdir(path: str) -> list[str]:
        """List the whole addresses of what lies directly below an address."""
        address = Address.parse(path)
        return [str(address.join(name)) for name in ObsStorage(address).list_children()]

    @staticmethod
    def pretty_path(path: str) -> str:
        return path


def register_handler() -> None:
    """Register the handlers with papermill, once in a process."""
    from papermill.iorw import LocalHandler, papermill_io

    class LocalNotebooks(LocalHandler):  # type: ignore[misc]
        """Each state of a notebook that runs: its parameters may hold a password."""

        def write(self, buf: str, path: str) -> None:
            super().write(redact_file(path, buf), path)

    known = {scheme for scheme, _ in papermill_io._handlers}  # the first may come by an entry point
    for scheme, handler in {SCHEME: ObsNotebooks, "/": LocalNotebooks()}.items():
        if scheme not in known:
            papermill_io.register(scheme, handler)
