"""Packages come to a kernel's environment, and nothing that is there is changed by it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.sentence import LANGUAGES
from ascend_workbook.machine import packages
from ascend_workbook.machine.packages import (
    STARTERS,
    installed_versions,
    missing_packages,
    outdated_packages,
    read_requirements,
)
from helpers import notebook

BEFORE = {"torch": "2.7.1", "torch_npu": "2.7.1.post4", "numpy": "1.26.4", "moxing_framework": "2.1.16.2ae09d45"}


class Pip:
    """In pip's place: says what it would bring, installs as told, keeps the commands."""

    def __init__(self, plan: dict[str, str], after: dict[str, str] | None = None, error: str = "") -> None:
        self.plan, self.error, self.commands = plan, error, list[list[str]]()
        self.here, self.after = dict(BEFORE), after
        self.constraints = ""

    def __call__(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        self.environment = options["env"]
        self.constraints = Path(command[command.index("-c") + 1]).read_text(encoding="utf-8")
        if "--dry-run" in command:
            items = [{"metadata": {"name": name, "version": version}} for name, version in self.plan.items()]
            Path(command[command.index("--report") + 1]).write_text(json.dumps({"install": items}), encoding="utf-8")
        else:
            self.here = self.after if self.after is not None else {**self.here, **self.plan}
        return subprocess.CompletedProcess(command, bool(self.error), "", self.error)


def with_pip(monkeypatch: pytest.MonkeyPatch, pip: Pip, free_mib: int = 10_000) -> Pip:
    monkeypatch.setattr(packages.subprocess, "run", pip)
    monkeypatch.setattr(packages, "installed_versions", lambda: dict(pip.here))
    monkeypatch.setattr(packages.shutil, "disk_usage", lambda place: SimpleNamespace(free=free_mib << 20))
    return pip


def refused(names: list[str]) -> WorkbookError:
    with pytest.raises(WorkbookError) as raised:
        packages.add(names)
    for lang in LANGUAGES:
        assert raised.value.message(lang) and raised.value.hint(lang)
    return raised.value


def test_all_that_is_here_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    pip = with_pip(monkeypatch, Pip({"msgspec": "0.20.0"}))
    assert packages.add(["msgspec"]) == ["msgspec 0.20.0"]
    assert ["--dry-run" in command for command in pip.commands] == [True, False]
    assert all(command[-1] == "msgspec>=0.18,<1" and "--no-cache-dir" not in command for command in pip.commands)
    # a version that pip does not take for one would stop it
    assert pip.constraints.split() == ["numpy==1.26.4", "torch==2.7.1", "torch_npu==2.7.1.post4"]


@pytest.mark.parametrize(
    "plan", [{"msgspec": "0.20.0", "numpy": "2.2.0"}, {"torchvision": "0.28.0"}, {"torch_npu": "2.13.0"}]
)
def test_a_plan_that_changes_something_is_refused(monkeypatch: pytest.MonkeyPatch, plan: dict[str, str]) -> None:
    pip = with_pip(monkeypatch, Pip(plan))
    assert refused(["msgspec"]).key == "packages.would_change" and len(pip.commands) == 1


def test_what_was_changed_all_the_same_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with_pip(monkeypatch, Pip({"msgspec": "0.20.0"}, after={**BEFORE, "torch": "2.13.0", "msgspec": "0.20.0"}))
    error = refused(["msgspec"])
    assert error.key == "packages.changed" and error.arguments["names"] == ["torch"]


def test_pips_own_error_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    pip = with_pip(monkeypatch, Pip({}, error="WARNING: x\nERROR: No space left on device\n\nnotice"))
    error = refused(["msgspec"])
    assert error.key == "packages.pip" and error.arguments["said"] == "ERROR: No space left on device"
    assert len(pip.commands) == 1


def test_why_no_index_was_reached_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip's three errors name no reason: that is in the warnings of its retries."""
    retry = "WARNING: Retrying (Retry(total={})) after connection broken by 'NewConnectionError(Connection refused)'"
    last = ["ERROR: Could not find a version", "ERROR: No matching distribution"]
    said = [*(retry.format(left) for left in (1, 0)), "WARNING: x", *last]
    with_pip(monkeypatch, Pip({}, error="\n".join(said)))
    assert refused(["msgspec"]).arguments["said"] == " / ".join([retry.format(0), *last])


def test_wheels_that_came_along_are_taken_and_no_index_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(packages, "WHEELS", tmp_path)
    pip = with_pip(monkeypatch, Pip({"msgspec": "0.20.0"}))
    packages.add(["msgspec"])
    assert not [command for command in pip.commands if "--find-links" in command], "there are none"
    (tmp_path / "msgspec-0.20.0-py3-none-any.whl").touch()
    pip = with_pip(monkeypatch, Pip({"msgspec": "0.20.0"}))
    packages.add(["msgspec"])
    found = [command[command.index("--find-links") :][:3] for command in pip.commands]
    assert found == [["--find-links", str(tmp_path), "--no-index"]] * 2
    with_pip(monkeypatch, Pip({}, error="ERROR: No matching distribution found for msgspec"))
    error = refused(["msgspec"])
    assert error.key == "packages.wheels" and str(tmp_path) in error.message("en")
    monkeypatch.setenv("ASCEND_WORKBOOK_MIRROR", "tuna")
    pip = with_pip(monkeypatch, Pip({"msgspec": "0.20.0"}))
    packages.add(["msgspec"])
    assert all("--find-links" in command and "--no-index" not in command for command in pip.commands)


def test_a_disk_that_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    pip = with_pip(monkeypatch, Pip({"msgspec": "0.20.0"}), free_mib=1000)
    packages.add(["msgspec"])
    assert all("--no-cache-dir" in command for command in pip.commands)
    pip = with_pip(monkeypatch, Pip({}), free_mib=100)
    assert refused(["msgspec"]).key == "packages.no_room" and not pip.commands


def test_a_kernel_without_torch_is_the_wrong_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pip = with_pip(monkeypatch, Pip({}))
    pip.here = {"pip": "23.0"}
    assert refused(["msgspec"]).key == "packages.no_torch" and not pip.commands


def test_mirror_and_proxy_reach_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_MIRROR", "tuna")
    monkeypatch.setenv("https_proxy", "http://proxy.example:8083")
    pip = with_pip(monkeypatch, Pip({"msgspec": "0.20.0"}))
    packages.add(["msgspec"])
    assert "tuna" in pip.environment["PIP_INDEX_URL"]
    assert pip.environment["https_proxy"] == "http://proxy.example:8083"
    monkeypatch.setenv("ASCEND_WORKBOOK_MIRROR", "https://user:word@mirror.example/simple")
    assert refused(["msgspec"]).key == "packages.mirror"


def test_a_notebook_says_what_it_adds_and_is_quiet_otherwise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASCEND_WORKBOOK_LANG", "en")
    notebook.prepare("en")
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(notebook, "missing_packages", lambda: ["msgspec"])
    monkeypatch.setattr(notebook, "add", lambda names: [f"{name} 1" for name in names])
    notebook.prepare("zh")
    said = capsys.readouterr().out
    assert "补装 msgspec" in said and "已补装：msgspec 1" in said
    monkeypatch.setattr(notebook, "outdated_packages", lambda: ["psutil 5.0 (>=5.9,<8)"])
    notebook.prepare("en")
    assert "asks for, and kept: psutil 5.0" in capsys.readouterr().out
    monkeypatch.setenv("ASCEND_WORKBOOK_INSTALL", "never")
    with pytest.raises(WorkbookError) as raised:
        notebook.prepare("en")
    assert raised.value.key == "packages.never"


def test_the_requirements_are_read_with_their_ranges() -> None:
    found = read_requirements()
    assert found["msgspec"] == "msgspec>=0.18,<1" and found["mindstudio_probe"].startswith("mindstudio-probe>=")
    assert {"torch", "torch_npu", "numpy"}.isdisjoint(found) and set(STARTERS) < set(found)


def test_of_two_with_one_name_the_first_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, version in (("a", "2.7.1"), ("b", "2.13.0")):
        info = tmp_path / folder / f"torch-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Torch\nVersion: {version}\n")
    monkeypatch.setattr("sys.path", [str(tmp_path / "a"), str(tmp_path / "b")])
    assert installed_versions() == {"torch": "2.7.1"}
    assert "msgspec" in missing_packages() and not set(missing_packages()) & set(STARTERS)


def test_here_nothing_is_lacking() -> None:
    assert missing_packages() == [] and outdated_packages() == []


@pytest.mark.parametrize(
    ("version", "told"),
    [("3.5.1", True), ("3.8", True), ("3.9", False), ("3.9.0rc1", False), ("3.10.1", False), ("unknown", True)],
)
def test_what_is_older_than_asked_is_named(monkeypatch: pytest.MonkeyPatch, version: str, told: bool) -> None:
    monkeypatch.setattr(packages, "installed_versions", lambda: {"matplotlib": version, "ipykernel": "6.7.0"})
    assert outdated_packages() == ([f"matplotlib {version} (>=3.9,<4)"] if told else [])
