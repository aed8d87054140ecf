"""Keys come from the environment or from a file of one's own, and are shown nowhere."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.redaction import SECRET_NAME
from ascend_workbook.storage import credentials
from ascend_workbook.storage.credentials import find_access
from tests.storage.conftest import KEY, SECRET, TOKEN

WHOLE = {"OBS_ACCESS_KEY_ID": KEY, "OBS_SECRET_ACCESS_KEY": SECRET, "OBS_SERVER": "obs.example.com"}
LINES = f"# mine\nexport OBS_ACCESS_KEY_ID={KEY}\nOBS_SECRET_ACCESS_KEY='{SECRET}'\n\nOBS_ENDPOINT=https://obs.x.com\n"


def kept(home: Path, text: str = LINES, mode: int = 0o600) -> Path:
    (home / ".obs").write_text(text)
    (home / ".obs").chmod(mode)
    return home


def refused(environ: dict[str, str], home: Path) -> WorkbookError:
    with pytest.raises(WorkbookError) as caught:
        find_access(environ, home)
    told = str(caught.value) + "".join(traceback.format_exception(None, caught.value, caught.value.__traceback__))
    assert SECRET not in told and KEY not in told and TOKEN not in told
    return caught.value


def test_from_the_environment(tmp_path: Path) -> None:
    found = find_access({**WHOLE, "OBS_SECURITY_TOKEN": TOKEN}, tmp_path)
    assert (found.key, found.secret, found.token, found.server) == (KEY, SECRET, TOKEN, "https://obs.example.com")


def test_from_the_file(tmp_path: Path) -> None:
    found = find_access({}, kept(tmp_path))
    assert (found.key, found.secret, found.token, found.server) == (KEY, SECRET, "", "https://obs.x.com")


def test_the_environment_wins_as_a_whole(tmp_path: Path) -> None:
    assert refused({"OBS_ACCESS_KEY_ID": "other"}, kept(tmp_path)).key == "storage.no_credentials"
    found = find_access({"OBS_SERVER": "http://127.0.0.1:9000"}, kept(tmp_path))
    assert (found.key, found.server) == (KEY, "http://127.0.0.1:9000")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_file_that_others_may_read_is_not_read(tmp_path: Path, mode: int) -> None:
    error = refused({}, kept(tmp_path, mode=mode))
    assert error.key == "storage.open_file" and f"chmod 600 {tmp_path}/.obs" in error.hint("en")


def test_a_link_is_not_followed_and_a_pipe_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".obs").symlink_to(kept(tmp_path) / ".obs")
    assert refused({}, tmp_path / "a").key == "storage.config_unread"
    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b" / ".obs", 0o600)
    assert refused({}, tmp_path / "b").key == "storage.open_file"


def test_a_wrong_line_is_told_by_its_number_alone(tmp_path: Path) -> None:
    error = refused({}, kept(tmp_path, f"OBS_ACCESS_KEY_ID={KEY}\n{SECRET}\n"))
    assert error.key == "storage.config" and error.arguments["line"] == 2


@pytest.mark.parametrize("name", ["OBS_ACCESS_KEY_ID", "OBS_SECRET_ACCESS_KEY", "OBS_SERVER"])
def test_what_is_missing_is_named(tmp_path: Path, name: str) -> None:
    error = refused({key: value for key, value in WHOLE.items() if key != name}, tmp_path)
    assert name in error.message("en") and "chmod 600" in error.hint("en") or "mode 600" in error.hint("en")


@pytest.mark.parametrize(
    "server", [f"https://me:{SECRET}@obs.x.com", "https://obs.x.com/bucket", "ftp://x", "https://"]
)
def test_a_server_is_host_and_port_alone(tmp_path: Path, server: str) -> None:
    assert refused({**WHOLE, "OBS_SERVER": server}, tmp_path).key == "storage.server"


def test_nothing_shows_them() -> None:
    found = find_access({**WHOLE, "OBS_SECURITY_TOKEN": TOKEN})
    assert repr(found) == "Access(server='https://obs.example.com')"
    assert found.hide_secrets(f"{SECRET} {KEY} {TOKEN} x") == "*** *** *** x"


def test_redaction_knows_the_names() -> None:
    assert all(SECRET_NAME.search(name) for name in (credentials.KEY, credentials.SECRET, credentials.TOKEN))
