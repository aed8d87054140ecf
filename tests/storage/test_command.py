"""`ascend-workbook storage`: what it prints, its exit codes, and the same from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_workbook import storage
from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.machine.launch import LaunchSpec, launch
from ascend_workbook.storage.names import USER_OUTPUT_MARK, read_user_output
from tests.storage.conftest import KEY, SECRET, TOKEN, Service
from tests.storage.test_transfer import made, tree

FILES = {"a/one": b"1", "two": b"22"}


def test_there_and_back(service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, place = made(tmp_path / "in", FILES), f"{service.place}/r"
    told = tmp_path / "up.json"
    assert main(["storage", "upload", str(source), place, "--json", str(told)]) == 0
    assert main(["storage", "list", place]) == 0
    assert main(["storage", "download", place, str(tmp_path / "out")]) == 0
    assert main(["storage", "verify", place]) == 0 and main(["storage", "verify", str(tmp_path / "out")]) == 0
    facts = json.loads(told.read_text())["facts"]
    assert (facts["files"], facts["requests"], facts["moved_bytes"]) == (2, 2, 3)
    assert tree(tmp_path / "out") == FILES
    both = "".join(capsys.readouterr())
    assert "2 files" in both and "a/one" in both and not any(word in both for word in (KEY, SECRET, TOKEN))


def test_what_a_script_printed_is_sent_only_where_it_is_asked_for(service: Service, tmp_path: Path) -> None:
    source, place = made(tmp_path / "in", {**FILES, "npu/output.log": b"key=1"}), f"{service.place}/r"
    report = storage.upload(source, place)
    left = next(finding for finding in report.findings if finding.key == "STO502.user_output")
    assert left.args == {"count": 1, "names": ["npu/output.log"]} and "--user-output" in (left.hint("en") or "")
    assert storage.verify(place).status is Status.GOOD and storage.verify(place).facts["files"] == 2
    assert main(["storage", "upload", str(source), place, "--user-output"]) == 0
    assert storage.verify(place).facts["files"] == 3
    alone = storage.upload(source / "npu" / "output.log", f"{service.place}/alone/")
    assert alone.facts["files"] == 1, "a file that is named is asked for"


CREDENTIALS = (
    *(".env", ".netrc", "conf/deploy.pem", "id_rsa", "kubeconfig", ".git-credentials", "a/.ssh/config", ".git/config"),
    *(".kube/config", "部署/服务.KEY", ".env.local", "hf_token.txt", "auth_tokens.json", ".pypirc"),
    *(".obs", "cache/huggingface/token", "cache/huggingface/stored_tokens", ".kaggle/kaggle.json", ".modelarts/auth"),
    *("gh/hosts.yml", "rclone/rclone.conf", "gcloud/credentials.db", ".obs.bak"),
)
NONE = (
    "added_tokens.json",
    "tokenizer.json",
    "my_secret_project/config.json",
    "git/config",
    "keys.py",
    "environment",
    "token",
    "a.obs",
)


def test_credentials_of_any_folder_stay_here_and_are_named(service: Service, tmp_path: Path) -> None:
    source = made(tmp_path / "in", dict.fromkeys(CREDENTIALS, b"planted") | dict.fromkeys(NONE, b"1"))
    report = storage.upload(source, f"{service.place}/r")
    assert sorted(service.held()) == sorted(["r/transfer.json", *(f"r/{name}" for name in NONE)])
    (left,) = [finding for finding in report.findings if finding.key == "STO502.private"]
    assert left.args["count"] == len(CREDENTIALS) and ".env" in left.message("en") and "密钥" in left.message("zh")
    assert main(["storage", "upload", str(source / ".env"), f"{service.place}/alone/"]) == 0
    assert service.requests.read_object("alone/.env") == b"planted", "a file that is named is asked for"


def test_what_a_script_printed_is_known_by_its_first_line_whatever_its_name(service: Service, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("print('token=abc')")
    result = launch(LaunchSpec(out=tmp_path / "ran", script=script, timeout_s=100))
    printed = result.output_path.read_bytes()
    assert printed.startswith(USER_OUTPUT_MARK.encode()) and read_user_output(result.output_path) == "token=abc\n"
    source = made(tmp_path / "in", {**FILES, "copy.txt": printed})
    assert storage.upload(source, f"{service.place}/r").facts["files"] == 2
    assert storage.upload(source, f"{service.place}/r", user_output=True).facts["files"] == 3


def test_a_wrong_file_is_named_and_fails(service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = f"{service.place}/r"
    assert storage.upload(made(tmp_path / "in", FILES), place).status is Status.GOOD
    service.requests.write_object("r/two", b"23")
    service.requests.write_object("r/strange", b"")
    for line in (["download", place, str(tmp_path / "out")], ["verify", place], ["verify", place, "--lang", "zh"]):
        assert main(["storage", *line]) == 1
    out = capsys.readouterr().out
    assert "two: its SHA-256 is another one" in out and "SHA-256 不符" in out
    assert "STO502" in [one.rule for one in storage.verify(place).findings]
    assert main(["storage", "verify", str(tmp_path / "out")]) == 2, "what did not come whole has no manifest"


def test_sizes_alone_are_not_called_clean(service: Service, tmp_path: Path) -> None:
    place = f"{service.place}/r"
    storage.upload(made(tmp_path / "in", FILES), place)
    service.requests.write_object("r/two", b"23")
    quick = storage.verify(place, quick=True)
    assert quick.status is Status.NOT_LOOKED and "contents were not read" in quick.verdict("en")
    service.requests.write_object("r/two", b"2")
    assert storage.verify(place, quick=True).status is Status.FIX


def test_what_could_not_run_exits_with_2(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (
        ["list", "obs://UPPER/x"],
        ["verify", f"{service.place}/nothing"],
        ["upload", "nowhere", service.place],
        ["upload", ".", service.place, "--workers", "0"],
    )
    for line in lines:
        assert main(["storage", *line]) == 2
    monkeypatch.delenv("OBS_SECRET_ACCESS_KEY")
    assert main(["storage", "list", service.place]) == 2
    error = capsys.readouterr().err
    assert "nothing is there" in error and "OBS_SECRET_ACCESS_KEY" in error and KEY not in error


def test_keys_are_no_options(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("--access-key", "--secret", "--token"):
        assert main(["storage", "list", "obs://bucket/x", word, "x"]) == 2


def test_a_folder_here_without_its_manifest_is_not_sent_to_download(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError, match="no such folder") as absent:
        storage.verify(tmp_path / "absent")
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(WorkbookError, match="nothing to check it by: 1 files") as caught:
        storage.verify(tmp_path)
    assert "--unverified" not in caught.value.hint("en") and "storage list" not in absent.value.hint("en")
