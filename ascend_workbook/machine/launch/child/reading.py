"""Which files this process opens to read, told to a folder: what a result depends on besides the script itself.

An audit hook (sys.addaudithook) sees what goes through Python: open, imports, listings of folders, files named to a
process that is started. It does not see the network, nor what native code opens by itself.
https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig

#: The folder; nothing is watched where the environment names none.
FOLDER = "ASCEND_WORKBOOK_READS"
#: In a line: the kind (r: read, w: written first, d: listed), path, size and time of its last change (-1: not there).
FIELD, END = "\x1f", "\0"
LOST = ".lost"
#: Where Python lies beside other things; elsewhere all below its prefix is its own.
SHARED = ("/", "/usr", "/usr/local")
#: The system's own: of these the versions in force are known, or nothing depends on them.
SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/share/", "/usr/lib/")
#: Who looks for a module, or for what is installed, lists every folder on the way.
SEARCHING = ("<frozen importlib", os.path.dirname(importlib.util.__file__))  # noqa: PTH120
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_watched: list[_Reads] = []


def watch_reading(*, listings: bool = True) -> None:
    """Note the files read from now on, here and in forked processes; with `listings` folders listed too."""
    folder = os.environ.get(FOLDER)
    if folder and not _watched:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        _watched.append(_Reads(folder, listings))
        sys.addaudithook(_watched[0].audit_event)


class _Reads:
    """Writes a line for each path at its first event; a forked process goes on in the same file."""

    def __init__(self, folder: str, listings: bool) -> None:
        self.path = os.path.join(folder, str(os.getpid()))  # noqa: PTH118
        self.own: int | None = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        run = os.path.dirname(os.path.dirname(os.path.realpath(folder)))  # noqa: PTH120
        libraries = {str(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
        package = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))  # noqa: PTH118, PTH120
        libraries |= {sys.prefix} - set(SHARED)
        libraries |= {os.path.realpath(path) for path in libraries}
        self.not_these = (*SYSTEM, *(f"{path}/" for path in (run, package, *libraries)))
        self.listings = listings
        self.seen: set[str] = {os.path.abspath(sys.executable)}  # noqa: PTH100

    def audit_event(self, name: str, args: tuple[object, ...]) -> None:
        """Note what the interpreter tells of files that are opened or listed; other events are ignored."""
        if name == "open":
            flags = args[2] if isinstance(args[2], int) else 0
            self._note_access("w" if flags & WRITING else "r", args[0])
        elif name in ("os.listdir", "os.scandir"):
            if self.listings and not sys._getframe(1).f_code.co_filename.startswith(SEARCHING):
                self._note_access("d", args[0] if args[0] is not None else ".")
        elif name == "subprocess.Popen" and isinstance(args[1], (list, tuple)):
            for word in args[1]:
                if isinstance(word, (str, bytes)) and os.path.isfile(word):  # noqa: PTH113
                    self._note_access("r", word)

    def _note_access(self, kind: str, opened: object) -> None:
        if self.own is None or not isinstance(opened, (str, bytes, os.PathLike)):
            return  # a descriptor that is open already
        path = _find_source(os.path.abspath(os.fsdecode(opened)))  # noqa: PTH100
        if path in self.seen or f"{path}/".startswith(self.not_these):
            return
        self.seen.add(path)
        try:
            now = os.stat(path)  # noqa: PTH116
            size, changed = now.st_size, now.st_mtime_ns
        except (OSError, ValueError):
            size = changed = -1
        line = FIELD.join((kind, path, str(size), str(changed))) + END
        try:
            os.write(self.own, line.encode("utf-8", "surrogateescape"))
        except OSError:  # a full disk is the script's to meet; the result is just not used again
            self.own = None
            os.replace(self.path, self.path + LOST)  # noqa: PTH105


def _find_source(path: str) -> str:
    """Return a compiled module's source, on which it depends; any other path as it is."""
    try:
        return importlib.util.source_from_cache(path) if path.endswith(".pyc") else path
    except ValueError:
        return path
