"""Set-up keeps a torch that is here, never downloads CUDA, and builds no simulator where CANN is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ascend_workbook.machine import cann
from tests.conftest import ROOT
from tools import bootstrap


@pytest.fixture
def pip_calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What pip would have been asked to install."""
    calls: list[list[str]] = []
    monkeypatch.setattr(bootstrap, "run_pip", lambda python, what: calls.append(what))
    return calls


def versions(monkeypatch: pytest.MonkeyPatch, **known: str) -> None:
    monkeypatch.setattr(bootstrap, "installed_version", lambda python, package: known.get(package))


def test_a_torch_that_is_here_is_kept(monkeypatch: pytest.MonkeyPatch, pip_calls: list[list[str]]) -> None:
    versions(monkeypatch, torch="2.7.1")
    bootstrap.install_torch(Path("python"))
    assert pip_calls == []


def test_a_cpu_build_is_taken(monkeypatch: pytest.MonkeyPatch, pip_calls: list[list[str]]) -> None:
    versions(monkeypatch)
    monkeypatch.setattr(bootstrap, "resolve_packages", lambda python, what: (["torch", "sympy"], ""))
    bootstrap.install_torch(Path("python"))
    assert pip_calls == [["torch==2.13.0"]]


def test_the_cpu_index_comes_second(monkeypatch: pytest.MonkeyPatch, pip_calls: list[list[str]]) -> None:
    versions(monkeypatch)
    answers = {True: ["torch", "sympy"], False: ["torch", "nvidia-cublas"]}
    monkeypatch.setattr(bootstrap, "resolve_packages", lambda python, what: (answers[bootstrap.CPU_INDEX in what], ""))
    bootstrap.install_torch(Path("python"))
    assert len(pip_calls) == 1 and bootstrap.CPU_INDEX in pip_calls[0]


@pytest.mark.parametrize("brings", [["torch", "nvidia-cublas-cu13"], ["torch", "triton"], []])
def test_cuda_is_never_downloaded(
    monkeypatch: pytest.MonkeyPatch, pip_calls: list[list[str]], brings: list[str]
) -> None:
    versions(monkeypatch)
    monkeypatch.setattr(bootstrap, "resolve_packages", lambda python, what: (brings, "Connection refused"))
    with pytest.raises(bootstrap.SetupError, match="no CPU build of .*Connection refused"):
        bootstrap.install_torch(Path("python"))
    assert pip_calls == []


def test_packages_hold_the_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    versions(monkeypatch, torch="2.7.1", torch_npu="2.7.1")
    held: list[str] = []

    def pip(python: Path, what: list[str]) -> None:
        if "-c" in what:
            held.append(Path(what[what.index("-c") + 1]).read_text())

    monkeypatch.setattr(bootstrap, "run_pip", pip)
    bootstrap.install_packages(Path("python"), dev=False)
    assert held == ["torch==2.7.1\ntorch_npu==2.7.1\n"]


def test_old_torchs_numpy_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    versions(monkeypatch, torch="2.1.0+cpu")
    monkeypatch.setattr(bootstrap, "tried_pairs", lambda: {"2.1.0": {"beside": ["numpy<2"]}})
    held: list[str] = []
    monkeypatch.setattr(
        bootstrap, "run_pip", lambda python, what: held.extend(Path(what[1]).read_text() for _ in "x" if "-c" in what)
    )
    bootstrap.install_packages(Path("python"), dev=False)
    assert held == ["torch==2.1.0+cpu\nnumpy<2\n"]


@pytest.mark.parametrize(
    ("here", "asked", "untried", "why"),
    [
        ("2.9.0+cpu", "", False, "never tried with torch 2.9.0"),
        (None, "2.9.0", False, "never tried with torch 2.9.0"),
        ("2.13.0", "2.12.0", False, "torch 2.12.0 was asked for and torch 2.13.0 is here"),
        ("2.9.0", "", True, ""),
        ("2.12.0+cpu", "", False, ""),
        (None, "2.12.0", False, ""),
        (None, "", False, ""),
    ],
)
def test_an_untried_pair_is_refused_before_anything_is_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, here: str | None, asked: str, untried: bool, why: str
) -> None:
    versions(monkeypatch, **({"torch": here} if here else {}))
    monkeypatch.setattr(bootstrap, "has_cann", lambda: False)
    monkeypatch.setattr(bootstrap, "run_command", lambda *_, **__: pytest.fail("nothing is to be run"))
    if not why:
        return bootstrap.refuse_untried(tmp_path, asked, untried=untried)
    with pytest.raises(bootstrap.SetupError, match=re.escape(why)) as raised:
        bootstrap.refuse_untried(tmp_path, asked, untried=untried)
    assert "make setup" in raised.value.args[1] and not list(tmp_path.iterdir())


def test_with_cann_any_pair_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    versions(monkeypatch, torch="2.9.0")
    monkeypatch.setattr(bootstrap, "has_cann", lambda: True)
    bootstrap.refuse_untried(tmp_path, "", untried=False)


@pytest.mark.parametrize(("torch", "torch_npu"), [("2.7.1+cpu", "2.7.1.post11"), ("2.9.0", "2.9.0")])
def test_torch_npu_is_the_one_that_was_tried(
    monkeypatch: pytest.MonkeyPatch, pip_calls: list[list[str]], tmp_path: Path, torch: str, torch_npu: str
) -> None:
    versions(monkeypatch, torch=torch)
    monkeypatch.setattr(bootstrap, "tried_pairs", lambda: {"2.7.1": {"torch_npu": "2.7.1.post11"}})
    monkeypatch.setattr(bootstrap, "run_command", lambda command, cwd=None: None)
    monkeypatch.setattr(bootstrap, "has_compiler", lambda: True)
    bootstrap.build_simulator(Path("python"), tmp_path)
    assert pip_calls[0][-1] == f"torch_npu=={torch_npu}"


@pytest.mark.parametrize("has_cann", [True, False])
def test_the_simulator_is_built_only_without_cann(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_cann: bool
) -> None:
    built: list[Path] = []
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    monkeypatch.setattr(bootstrap, "CANN_ROOTS", (str(tmp_path if has_cann else tmp_path / "none"),))
    monkeypatch.setattr(bootstrap, "install_torch", lambda python, wanted: None)
    monkeypatch.setattr(bootstrap, "install_packages", lambda python, dev: None)
    monkeypatch.setattr(bootstrap, "build_native", lambda python: None)
    monkeypatch.setattr(bootstrap, "build_simulator", lambda python, venv: built.append(venv))
    bootstrap.set_up(Path("python"), tmp_path, dev=False)
    assert bool(built) is not has_cann


def test_cann_is_looked_for_in_one_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert bootstrap.CANN_ROOTS == cann.ROOTS
    monkeypatch.setattr(bootstrap, "CANN_ROOTS", ())
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    assert bootstrap.has_cann()
    (tmp_path / "version.cfg").write_text("simulated=true\n")
    assert not bootstrap.has_cann()


def test_the_requirements_leave_torch_alone() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines() + (
        ROOT / "requirements-dev.txt"
    ).read_text().splitlines()
    assert not [line for line in lines if line.startswith("torch")]


def test_a_failing_step_exits_with_2(tmp_path: Path) -> None:
    """A venv folder that cannot be made: one line of error, no traceback."""
    (tmp_path / "file").write_text("")
    command = [sys.executable, str(ROOT / "tools" / "bootstrap.py"), "--venv", str(tmp_path / "file" / "venv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "next step" in done.stderr and "Traceback" not in done.stderr


def test_an_environments_own_torch_stays_visible(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Started from a virtual environment with torch: the new one sees that torch."""
    if sys.prefix == sys.base_prefix:
        pytest.skip("the tests do not run in a virtual environment")
    monkeypatch.setattr(bootstrap, "has_torch", lambda python: True)
    python = bootstrap.make_venv(tmp_path / "venv")
    done = subprocess.run(
        [str(python), "-c", "import papermill; print(papermill.__file__)"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_one_variable_sets_the_mirror() -> None:
    assert bootstrap.mirror_settings("") == {}
    assert bootstrap.mirror_settings("tuna") == {"PIP_INDEX_URL": bootstrap.MIRRORS["tuna"]}
    own = "https://pypi.example.cn/simple"
    assert bootstrap.mirror_settings(own) == {"PIP_INDEX_URL": own}


@pytest.mark.parametrize(
    ("told", "why"),
    [("tsinghua", "tuna, ustc"), ("http://pypi.example.cn", "https://"), ("https://me:word@pypi.example.cn", "netrc")],
)
def test_a_mirror_that_cannot_be_one_is_refused(told: str, why: str) -> None:
    with pytest.raises(bootstrap.SetupError) as raised:
        bootstrap.mirror_settings(told)
    assert why in raised.value.args[1] and "word" not in " ".join(raised.value.args).replace("password", "")


def test_the_mirror_reaches_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Through the environment that its processes inherit."""
    seen: list[str] = []
    ask = [sys.executable, "-m", "pip", "config", "list"]

    monkeypatch.setattr(bootstrap, "refuse_untried", lambda venv, asked, untried: None)

    def set_up(python: Path, venv: Path, *, dev: bool, pair: str) -> None:
        seen.append(subprocess.run(ask, capture_output=True, text=True, check=True).stdout)

    monkeypatch.setenv("PIP_INDEX_URL", "")  # put back after the test
    monkeypatch.setenv(bootstrap.MIRROR, "ustc")
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "--venv", str(tmp_path)])
    monkeypatch.setattr(bootstrap, "make_venv", lambda venv: Path(sys.executable))
    monkeypatch.setattr(bootstrap, "set_up", set_up)
    assert bootstrap.main() == 0 and bootstrap.MIRRORS["ustc"] in seen[0]
    monkeypatch.setenv(bootstrap.MIRROR, "nowhere")
    assert bootstrap.main() == 2 and len(seen) == 1


def test_torch_is_sought_at_the_mirror_before_abroad(
    monkeypatch: pytest.MonkeyPatch, pip_calls: list[list[str]]
) -> None:
    versions(monkeypatch)
    monkeypatch.setenv("ASCEND_WORKBOOK_MIRROR", "tuna")
    monkeypatch.setenv("PIP_INDEX_URL", bootstrap.MIRRORS["tuna"])
    asked: list[list[str]] = []

    def resolve(python: Path, what: list[str]) -> tuple[list[str], str]:
        asked.append(what)
        return (["torch"] if bootstrap.MIRROR_CPU_LINKS in what else ["torch", "nvidia-cublas"]), ""

    monkeypatch.setattr(bootstrap, "resolve_packages", resolve)
    bootstrap.install_torch(Path("python"))
    assert [bootstrap.CPU_INDEX in one for one in asked] == [False, False] and len(pip_calls) == 1


def test_a_pair_is_installed_only_where_there_is_no_torch(
    monkeypatch: pytest.MonkeyPatch, pip_calls: list[list[str]], tmp_path: Path
) -> None:
    monkeypatch.setattr(bootstrap, "resolve_packages", lambda python, what: (["torch"], ""))
    monkeypatch.setattr(bootstrap, "CANN_ROOTS", (str(tmp_path),))
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    monkeypatch.setattr(bootstrap, "install_packages", lambda python, dev: None)
    monkeypatch.setattr(bootstrap, "build_native", lambda python: None)
    versions(monkeypatch, torch="2.7.1")
    bootstrap.set_up(Path("python"), tmp_path, dev=False, pair="2.12.0")
    assert pip_calls == []
    (tmp_path / "setup-stamp.json").unlink()
    versions(monkeypatch)
    bootstrap.set_up(Path("python"), tmp_path, dev=False, pair="2.12.0")
    assert pip_calls[:2] == [["torch==2.12.0"], ["--no-deps", "torch_npu==2.12.0"]] and "decorator" in pip_calls[2]


def test_targets_start_only_what_the_environment_surely_has() -> None:
    """Packages of the Python it was made with are seen in it, their programs are not beside its own."""
    started = re.findall(r"\$\(BIN\)/([\w-]+)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert len(started) > 5 and set(started) == {"python", "ascend-workbook"}
