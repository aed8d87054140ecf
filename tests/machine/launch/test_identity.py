"""The script cannot tell that it is launched: argv, __main__, imports, pickling, spawn. About 40 seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_workbook.machine import device
from tests.machine.launch.running import SCRIPTS, output, recorder, run, told

ROOT = Path(__file__).resolve().parents[3]


def facts(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.split("FACTS ", 1)[1].splitlines()[0])
    return found


def python(*command: str, cwd: Path) -> str:
    env = device.child_environment("cpu")
    done = subprocess.run([sys.executable, *command], env=env, cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_script_sees_what_python_shows_it(tmp_path: Path) -> None:
    result = run(tmp_path, "identity.py", "--flag", "a b")
    alone = facts(python(str(SCRIPTS / "identity.py"), "--flag", "a b", cwd=tmp_path / "work"))
    assert facts(output(result)) == alone
    assert alone["ours"] == [] and alone["pickled"] is True


def test_a_module_too(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "package").mkdir(parents=True)
    (work / "package" / "__init__.py").touch()
    (work / "package" / "identity.py").write_bytes((SCRIPTS / "identity.py").read_bytes())
    result = _module(tmp_path, work)
    assert result == facts(python("-m", "package.identity", "1", cwd=work))
    assert result["spec"] == "package.identity" and result["package"] == "package"


def _module(tmp_path: Path, work: Path) -> dict[str, Any]:
    from ascend_workbook.machine.launch import LaunchSpec, launch

    env = device.child_environment("cpu")
    result = launch(LaunchSpec(out=tmp_path, module="package.identity", args=["1"], cwd=work, env=env))
    assert result.ok, result.error
    return facts(output(result))


@pytest.mark.parametrize(("kind", "whose"), [("helpers_module", "helpers.py"), ("helpers_folder", "helpers/ folder")])
def test_the_users_own_helpers(tmp_path: Path, kind: str, whose: str) -> None:
    """Even with our checkout ahead on PYTHONPATH, where its `helpers/__init__.py` would win over a bare folder."""
    env = device.child_environment("cpu")
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), env.get("PYTHONPATH", ""))))
    folder = SCRIPTS / "with_helpers" / kind
    result = run(tmp_path, folder / "train.py", cwd=folder, env=env)
    assert result.ok, result.error
    assert f"WHOSE the user's {whose}" in output(result)


def test_launching_from_inside_a_folder_with_helpers(tmp_path: Path) -> None:
    """The workbook's process runs with the user's folder current; the child imports the user's, we import ours."""
    folder = SCRIPTS / "with_helpers" / "helpers_module"
    code = (
        "import sys; sys.path[0] = sys.argv[1]\n"
        "from pathlib import Path\nfrom ascend_workbook.machine.launch import LaunchSpec, launch\n"
        "r = launch(LaunchSpec(out=Path(sys.argv[2]), script=Path('train.py')))\nprint(r.outcome, r.error)"
    )
    told = python("-c", code, str(ROOT), str(tmp_path), cwd=folder)
    assert "finished None" in told
    assert "WHOSE the user's helpers.py" in (tmp_path / "output.log").read_text()


def test_our_package_is_not_importable_in_the_child(tmp_path: Path) -> None:
    env = device.child_environment("cpu")
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), env.get("PYTHONPATH", ""))))
    result = run(tmp_path, "no_helpers.py", env=env)
    assert "ABSENT helpers" in output(result)


def test_processes_that_the_script_spawns_are_launched_too(tmp_path: Path) -> None:
    plugin, path = recorder(tmp_path, by_rank=True)
    result = run(tmp_path, "spawns.py", transform="baseline_cpu", steps=3, plugins=[plugin])
    assert result.ok, (result.trouble, result.error)
    assert "joined" in output(result)
    assert [log.meta["rank"] for log in result.logs] == [0, 1]
    assert [len(log.steps) for log in result.logs] == [3, 3]
    assert result.outcome == "stopped_after"
    for rank in (0, 1):  # and not the loader's worker, which would have spoilt the file of rank 0
        assert [entry[0] for entry in told(path.with_name(f"{rank}-told.json"))].count("step") == 3
    assert len(list(tmp_path.glob("*told.json"))) == 3, "the spawning process and two ranks"
    first, second = result.logs
    assert [2 * loss for loss in first.losses] == pytest.approx(second.losses, rel=1e-6)  # type: ignore[operator]
