"""The commands of docs/modelarts-job.md: what is uploaded, what is asked of ModelArts' API and with what token."""

from __future__ import annotations

import http.server
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_workbook.cli import main as __main__
from ascend_workbook.modelarts import imitation
from tests.conftest import ROOT

PAGES = [ROOT / "docs" / name for name in ("modelarts-job.md", "modelarts-job.zh-CN.md")]
BLOCKS = [re.findall(r"```bash\n(.*?)```", page.read_text(encoding="utf-8"), re.S) for page in PAGES]
UPLOAD, LISTS, REQUEST, POST, FETCH = BLOCKS[0]
TOKEN, PROJECT = "token-TESTTESTTEST", "0123456789abcdef"


def test_both_pages_have_the_same_commands_and_each_of_ours_is_one() -> None:
    assert BLOCKS[0] == BLOCKS[1]
    lines = [line for block in BLOCKS[0] for line in block.splitlines()]
    ours = [line.split()[1:] for line in lines if line.startswith("ascend-workbook")]
    assert len(ours) == 5
    for words in ours:
        __main__.build_parser(words[0]).parse_args(words)


def test_what_is_uploaded_is_all_that_a_job_needs_and_no_more(tmp_path: Path) -> None:
    """From a checkout with what lies about in one."""
    for name in (*imitation.CODE, "notebooks"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    for name in (".git", ".venv", "runs", "tests"):
        (tmp_path / name).mkdir()
    gather = "\n".join(UPLOAD.splitlines()[:2]).replace("tar -c ", "tar -c -h ")
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", gather], cwd=tmp_path, check=True)
    made = tmp_path / "build" / "job"
    assert {path.name for path in made.iterdir()} == {*(name.partition("/")[0] for name in imitation.CODE), "notebooks"}
    assert [path.name for path in (made / "tools").iterdir()] == ["bootstrap.py"]
    assert list(made.glob("notebooks/zh/01_*.ipynb")) and list(made.glob("notebooks/scripts/*.py"))
    assert not list(made.rglob("__pycache__"))


class Api(http.server.BaseHTTPRequestHandler):
    """Writes down what it is asked."""

    asked: list[tuple[str, str, str, bytes]] = []

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.asked.append((self.command, self.path, self.headers.get("X-Auth-Token", ""), body))
        self.send_response(201 if self.command == "POST" else 200)
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def api() -> Iterator[str]:
    Api.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v2/$PROJECT_ID"
        server.shutdown()


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_the_calls_have_the_documented_paths_and_the_token_is_shown_to_nobody(tmp_path: Path, api: str) -> None:
    (tmp_path / "job.json").write_text('{"kind": "job"}')
    lines = [line if not line.startswith("MA=") else f'MA="{api}"' for line in (LISTS + POST).splitlines()]
    script = "set -e -o pipefail -x\n" + "\n".join(lines) + "\nenv | grep -c TESTTEST || true\n"
    env = {"PATH": "/usr/bin:/bin", "PROJECT_ID": PROJECT, "REGION": "cn-north-4"}
    done = subprocess.run(
        ["bash", "-c", script], input=f"{TOKEN}\n", cwd=tmp_path, env=env, text=True, capture_output=True, check=True
    )
    called = [line for line in done.stderr.splitlines() if line.startswith("+ curl")]
    assert len(called) == 5 and not [line for line in called if TOKEN in line]
    assert {token for _, _, token, _ in Api.asked} == {TOKEN} and done.stdout.splitlines()[-1] == "0"
    job = "/training-jobs/00000000-0000-0000-0000-000000000000"
    assert [(way, path.partition(PROJECT)[2]) for way, path, _, _ in Api.asked] == [
        ("GET", "/training-job-flavors?flavor_type=Ascend"),
        ("GET", "/training-job-engines"),
        ("POST", "/training-jobs"),
        ("GET", job),
        ("GET", f"{job}/tasks/worker-0/logs/preview"),
    ]
    assert json.loads(Api.asked[2][3]) == {"kind": "job"} and "HTTP 201" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["job.json"]
