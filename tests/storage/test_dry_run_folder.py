"""The folder of a dry run may be sent as it is: no link, hidden file or credential, nothing the script did not need."""

from __future__ import annotations

import json
from pathlib import Path

from ascend_workbook.findings.finding import Status
from ascend_workbook.migration.dry_run import dry_run
from ascend_workbook.storage.verb import upload
from tests.storage.conftest import Service

SECRETS = {
    ".env": "HF_TOKEN=planted-env",
    ".netrc": "password planted-netrc",
    ".ssh/id_rsa": "planted-ssh",
    ".git/config": "planted-git",
    "credentials.json": "planted-credentials",
    "conf/deploy.pem": "planted-pem",
    "conf/.env": "planted-inner-env",
    "id_rsa": "planted-key",
    "服务密钥.key": "planted-中文-key",
}
SCRIPT = """
import json, pathlib
import torch
from net import make

assert json.load(open("config.json"))["width"] == 3 and len(list(pathlib.Path("data").iterdir())) == 600
assert pathlib.Path("conf/train.yaml").read_text() == "lr: 0.1"
assert pathlib.Path("elsewhere/big.bin").read_bytes() == b"big"
hidden = [name for name in (".env", ".netrc", "credentials.json", "conf/deploy.pem") if pathlib.Path(name).exists()]
assert not hidden, hidden
model = make()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
pathlib.Path("log.txt").open("a").write("ran\\n")
pathlib.Path("conf/written.txt").write_text("new")
for number in range(2):
    loss = model(torch.full((2, 3), number + 1.0)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def _plant(folder: Path) -> Path:
    files = {
        **SECRETS,
        "train.py": SCRIPT,
        "config.json": '{"width": 3}',
        "log.txt": "old\n",
        "notes.md": "planted-notes",
    }
    files |= {"net.py": "import torch\n\ndef make():\n    return torch.nn.Linear(3, 1)\n", "conf/train.yaml": "lr: 0.1"}
    files |= {f"data/{number}.txt": "planted-data" for number in range(600)}
    for name, text in files.items():
        (folder / "user" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "user" / name).write_text(text, encoding="utf-8")
    (folder / "disk").mkdir()
    (folder / "disk" / "big.bin").write_bytes(b"big")
    (folder / "user" / "elsewhere").symlink_to(folder / "disk", target_is_directory=True)
    return folder / "user" / "train.py"


def test_the_folder_of_a_dry_run_is_sent_and_holds_nothing_of_others(tmp_path: Path, service: Service) -> None:
    script = _plant(tmp_path)
    before = {path: path.read_bytes() for path in script.parent.rglob("*") if path.is_file()}
    out = tmp_path / "ran"
    report = dry_run(script, device="cpu", steps=2, out=out)
    assert report.facts["baseline"]["losses"] and all(report.facts["baseline"]["losses"]), report.verdict("en")
    every = list(out.rglob("*"))
    assert [path for path in every if path.is_symlink()] == []
    work = out / "baseline" / "work"
    held = {path.relative_to(work).as_posix() for path in work.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert held == {"train.py", "net.py", "log.txt", "conf/written.txt"}
    assert (work / "log.txt").read_text() == "old\nran\n"
    for path in every:
        assert not path.is_file() or b"planted" not in path.read_bytes() or path.name == "train.py", path
    left = [".env", ".git", ".netrc", ".ssh", "conf/.env", "conf/deploy.pem"]
    left += ["credentials.json", "id_rsa", "服务密钥.key"]
    assert json.loads((out / "baseline" / "work.json").read_text("utf-8")) == {
        "holds": ["net.py", "train.py"],
        "left_out": sorted(left),
    }
    assert report.facts["work"]["baseline"]["left_out"] == sorted(left)
    said = next(finding for finding in report.findings if finding.key == "MIG148.left_out")
    assert said.args["count"] == 9 and ".env" in said.message("en") and "凭据" in said.message("zh")
    assert {path: path.read_bytes() for path in script.parent.rglob("*") if path.is_file()} == before
    sent = upload(out, f"{service.place}/ran")
    assert sent.status <= Status.NOTE and "/".join(("ran/baseline", "work", "train.py")) in service.held()
    assert not [name for name in service.held() if Path(name).name.startswith(".env") or "id_rsa" in name]
