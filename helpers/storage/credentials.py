"""The keys of object storage: from the environment, else from ~/.obs, which nobody else may read. Never shown.

Names are the vendor's: OBS_ACCESS_KEY_ID, OBS_SECRET_ACCESS_KEY, OBS_SECURITY_TOKEN and OBS_SERVER (or OBS_ENDPOINT).
~/.obs has them as lines NAME=VALUE. They are read when a request needs them and are no parameter of anything.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from helpers.errors import WorkbookError, reason

KEY, SECRET, TOKEN = "OBS_ACCESS_KEY_ID", "OBS_SECRET_ACCESS_KEY", "OBS_SECURITY_TOKEN"
SERVERS = ("OBS_SERVER", "OBS_ENDPOINT")
NAMES = (KEY, SECRET, TOKEN, *SERVERS)
FILE = ".obs"
MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class Access:
    """`repr` tells the server alone, so that no traceback tells more."""

    server: str
    key: str = field(repr=False)
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)

    def without(self, text: str) -> str:
        """The text, as the service wrote it, without what must not be seen."""
        for hidden in filter(None, (self.secret, self.token, self.key)):
            text = text.replace(hidden, "***")
        return text


def access(environ: Mapping[str, str] | None = None, home: Path | None = None) -> Access:
    """Keys together from the environment or together from the file, never one of each.

    Raises WorkbookError: `storage.no_credentials`, `storage.no_server`, `storage.open_file` (with the chmod),
    `storage.config` for a line that is none, `storage.server` for an address that carries more than host and port.
    """
    environ = os.environ if environ is None else environ
    file = (Path.home() if home is None else home) / FILE
    named = {name: environ[name] for name in NAMES if environ.get(name)}
    whole = KEY in named and SECRET in named and any(name in named for name in SERVERS)
    kept = {} if whole else _read(file)
    keys = named if KEY in named or SECRET in named else kept
    missing = [name for name in (KEY, SECRET) if not keys.get(name)]
    if missing:
        raise WorkbookError("storage.no_credentials", names=list(missing), file=str(file))
    server = next((held[name] for held in (named, kept) for name in SERVERS if held.get(name)), "")
    if not server:
        raise WorkbookError("storage.no_server", names=list(SERVERS), file=str(file))
    return Access(_checked(server), keys[KEY], keys[SECRET], keys.get(TOKEN, ""))


def _read(file: Path) -> dict[str, str]:
    """Its lines; nothing where there is no file. What is opened is what is looked at."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return {}
    except OSError as cause:
        raise WorkbookError("storage.config_unread", file=str(file), error=reason(cause)) from cause
    with os.fdopen(handle, "rb") as stream:
        about = os.fstat(stream.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
            mode = oct(stat.S_IMODE(about.st_mode))[2:]
            raise WorkbookError("storage.open_file", file=str(file), mode=mode)
        return _parsed(stream.read(MOST_BYTES).decode("utf-8", "replace"), file)


def _parsed(text: str, file: Path) -> dict[str, str]:
    """Lines that are no NAME=VALUE are told by number, without what is in them."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip().removeprefix("export ")
        if not line or line.startswith("#"):
            continue
        name, separator, value = line.partition("=")
        if not separator or name.strip() not in NAMES:
            raise WorkbookError("storage.config", file=str(file), line=number, names=list(NAMES))
        found[name.strip()] = value.strip().strip("'\"")
    return found


def _checked(server: str) -> str:
    """With its scheme: https where none is given."""
    text = server if "://" in server else f"https://{server}"
    parts = urlsplit(text)
    more = parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password
    if parts.scheme not in ("http", "https") or not parts.hostname or more:
        raise WorkbookError("storage.server", names=list(SERVERS))  # not shown: it may carry a password
    return f"{parts.scheme}://{parts.netloc}"
