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

from ascend_workbook.findings.errors import WorkbookError, explain_os_error

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

    def hide_secrets(self, text: str) -> str:
        """Hide what must not be seen in a text that the service wrote."""
        for hidden in filter(None, (self.secret, self.token, self.key)):
            text = text.replace(hidden, "***")
        return text


def find_access(environ: Mapping[str, str] | None = None, home: Path | None = None) -> Access:
    """Find the keys together in the environment or together in the file, never one of each. Raises WorkbookError:
    `storage.no_credentials`, `storage.no_server`, `storage.open_file` (with the chmod), `storage.config` for a line
    that is none, `storage.server` for an address that carries more than host and port."""
    environ = os.environ if environ is None else environ
    file = (Path.home() if home is None else home) / FILE
    from_environment = {name: environ[name] for name in NAMES if environ.get(name)}
    whole = KEY in from_environment and SECRET in from_environment and any(name in from_environment for name in SERVERS)
    from_file = {} if whole else _read_file(file)
    keys = from_environment if KEY in from_environment or SECRET in from_environment else from_file
    missing = [name for name in (KEY, SECRET) if not keys.get(name)]
    if missing:
        raise WorkbookError("storage.no_credentials", names=list(missing), file=str(file))
    servers = [values.get(name, "") for values in (from_environment, from_file) for name in SERVERS]
    server = next(filter(None, servers), "")
    if not server:
        raise WorkbookError("storage.no_server", names=list(SERVERS), file=str(file))
    text = server if "://" in server else f"https://{server}"
    parts = urlsplit(text)
    more = parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password
    if parts.scheme not in ("http", "https") or not parts.hostname or more:
        raise WorkbookError("storage.server", names=list(SERVERS))  # not shown: it may carry a password
    return Access(f"{parts.scheme}://{parts.netloc}", keys[KEY], keys[SECRET], keys.get(TOKEN, ""))


def _read_file(file: Path) -> dict[str, str]:
    """Read the lines of the file; nothing where there is no file. What is opened is what is looked at."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return {}
    except OSError as cause:
        raise WorkbookError("storage.config_unread", file=str(file), error=explain_os_error(cause)) from cause
    with os.fdopen(handle, "rb") as stream:
        about = os.fstat(stream.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
            mode = oct(stat.S_IMODE(about.st_mode))[2:]
            raise WorkbookError("storage.open_file", file=str(file), mode=mode)
        text = stream.read(MOST_BYTES).decode("utf-8", "replace")
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip().removeprefix("export ")
        if not line or line.startswith("#"):
            continue
        name, separator, value = line.partition("=")
        if not separator or name.strip() not in NAMES:
            # named by number, without what is in it
            raise WorkbookError("storage.config", file=str(file), line=number, names=list(NAMES))
        values[name.strip()] = value.strip().strip("'\"")
    return values
