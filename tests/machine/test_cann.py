"""Where CANN is: both layouts, the sourced environment, and the simulator told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.machine import cann


def new_layout(root: Path, version: str = "8.5.0") -> Path:
    root.mkdir(parents=True)
    (root / "version.cfg").write_text(f"# version: 1.0\nruntime_running_version=[7.9.0.1.220:{version}]\n")
    (root / "set_env.sh").write_text('export ASCEND_HOME_PATH="$(cd "$(dirname "${BASH_SOURCE[0]}")"; pwd)"\n')
    return root


def old_layout(root: Path, version: str = "8.0.RC3") -> Path:
    (root / "aarch64-linux").mkdir(parents=True)
    info = f"package_name=Ascend-cann-toolkit\nversion={version}\ninnerversion=V100R001C19SPC001B117\n"
    (root / "aarch64-linux" / "ascend_toolkit_install.info").write_text(info)
    return root


def test_both_layouts_tell_their_version(tmp_path: Path) -> None:
    assert cann.describe_cann(new_layout(tmp_path / "cann"), sourced=True).version == "8.5.0"
    assert cann.describe_cann(old_layout(tmp_path / "latest"), sourced=True).version == "8.0.RC3"


def test_a_folder_without_a_version_has_none(tmp_path: Path) -> None:
    (tmp_path / "version.cfg").mkdir()  # cannot be read as a file, whoever runs the test
    assert cann.describe_cann(tmp_path, sourced=True) == cann.Cann(tmp_path, "", False, True)


def test_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed, told = new_layout(tmp_path / "installed"), new_layout(tmp_path / "told", "9.0.0")
    monkeypatch.setattr(cann, "ROOTS", (str(tmp_path / "nothing"), str(installed)))
    found = cann.find_cann({"ASCEND_HOME_PATH": str(told)})
    assert found and (found.root, found.version, found.sourced) == (told, "9.0.0", True)
    found = cann.find_cann({})
    assert found and (found.root, found.sourced) == (installed, False)
    found = cann.find_cann({"ASCEND_HOME_PATH": str(tmp_path / "gone")})
    assert found and found.root == installed


def test_what_sh_leaves_behind_is_no_cann(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cann, "ROOTS", ())
    assert cann.find_cann({"ASCEND_HOME_PATH": "."}) is None


def test_set_env_runs_in_bash(tmp_path: Path) -> None:
    root = new_layout(tmp_path / "with 空格")
    made = cann.sourced_environment(root, {"PATH": "/usr/bin:/bin", "KEPT": "a=b"})
    assert made and made["ASCEND_HOME_PATH"] == str(root) and made["KEPT"] == "a=b" and "SHLVL" not in made


@pytest.mark.parametrize("script", ["exit 3", "sleep 30"])
def test_a_script_that_fails_or_hangs_is_none(tmp_path: Path, script: str) -> None:
    root = new_layout(tmp_path / "cann")
    (root / "set_env.sh").write_text(script)
    assert cann.sourced_environment(root, {"PATH": "/usr/bin:/bin"}, timeout_s=0.5) is None
    assert cann.sourced_environment(tmp_path, {}) is None


def test_the_simulator_is_taken_out(tmp_path: Path) -> None:
    root = new_layout(tmp_path / "simulator")
    (root / "version.cfg").write_text("version=9.1.0\nsimulated=true\n")
    before = {
        "ASCEND_HOME_PATH": str(root),
        "ASCEND_OPP_PATH": str(root / "opp"),
        "LD_LIBRARY_PATH": f"{root}/lib64:/usr/lib",
        "PYTHONPATH": f"{root}/python",
        "PATH": "/usr/bin",
    }
    assert cann.describe_cann(root, sourced=True).simulated
    assert cann.without_simulator(before) == {"LD_LIBRARY_PATH": "/usr/lib", "PATH": "/usr/bin"}
    real = {"ASCEND_HOME_PATH": str(new_layout(tmp_path / "real")), "LD_LIBRARY_PATH": "/x"}
    assert cann.without_simulator(real) == real


def test_the_simulator_is_taken_out_through_links(tmp_path: Path) -> None:
    """python/ may be a link to where torch_npu lies, and the folder may be reached by another name."""
    root = new_layout(tmp_path / "simulator")
    (root / "version.cfg").write_text("version=9.1.0\nsimulated=true\n")
    (tmp_path / "elsewhere").mkdir()
    (root / "python").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "alias").symlink_to(root)
    before = {
        "ASCEND_HOME_PATH": str(tmp_path / "alias"),
        "PYTHONPATH": f"{root}/python:{tmp_path}/alias/python:/mine",
        "PATH": f"{tmp_path}/alias/bin:/usr/bin",
    }
    assert cann.without_simulator(before) == {"PYTHONPATH": "/mine", "PATH": "/usr/bin"}


def test_the_simulator_is_taken_out_where_a_real_cann_was_sourced_after_it(tmp_path: Path) -> None:
    root, real = new_layout(tmp_path / "simulator"), new_layout(tmp_path / "real")
    (root / "version.cfg").write_text("version=9.1.0\nsimulated=true\n")
    before = {
        "ASCEND_HOME_PATH": str(real),
        "ASCEND_WORKBOOK_SIMULATED": "1",
        "LD_LIBRARY_PATH": f"{real}/lib64:{root}/lib64",
    }
    assert cann.without_simulator(before) == {"ASCEND_HOME_PATH": str(real), "LD_LIBRARY_PATH": f"{real}/lib64"}


def test_signs_of_a_real_cann(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = tmp_path / "version.info"
    monkeypatch.setattr(cann, "ROOTS", (str(tmp_path / "cann"),))
    monkeypatch.setattr(cann, "SIGNS", (*cann.ROOTS, str(driver), str(tmp_path / "davinci_manager")))
    assert cann.real_sign({}) == ""
    root = new_layout(tmp_path / "simulator")
    (root / "version.cfg").write_text("version=9.1.0\nsimulated=true\n")
    assert cann.real_sign({"ASCEND_HOME_PATH": str(root)}) == "", "the simulator is no real CANN"
    driver.touch()
    assert cann.real_sign({}) == str(driver)
    real = new_layout(tmp_path / "cann")
    assert cann.real_sign({}) == str(real)


def test_what_this_user_may_not_enter_is_no_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that root started as another user still has root's folders in its path."""

    def closed(root: Path, *, sourced: bool) -> cann.Cann:
        raise PermissionError(13, "Permission denied", str(root))

    monkeypatch.setattr(cann, "describe_cann", closed)
    assert cann.without_simulator({"PATH": "/closed/bin:/bin"}) == {"PATH": "/closed/bin:/bin"}
