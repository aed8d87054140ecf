"""Packages that only tell of a run do nothing where they are not installed; others are missed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ascend_workbook.planning.rehearsal.stand_ins import StandIn
from tests.planning.child import running


def run(folder: Path, code: str) -> tuple[Any, list[StandIn], str]:
    """Run code with the plugin."""
    return running.run(folder, code, ("loggers.py", {}))


def test_a_logger_does_nothing_and_a_library_that_only_looks_is_not_answered(tmp_path: Path) -> None:
    library = tmp_path / "library" / "site-packages" / "framework"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("import importlib.util\nhas = importlib.util.find_spec('wandb') is not None")
    code = """
import sys
sys.path.append("library/site-packages")
import framework
import wandb
from tensorboard_logger import configure, Logger
wandb.init(project="x").log({"loss": 1})
with wandb.run as run:
    pass
@wandb.watch
def step():
    return 3
configure("a"); Logger("b").log_value("c", 1, 2)
print(json.dumps([framework.has, step(), len(wandb.config.names)]))
"""
    facts, stand_ins, errors = run(tmp_path, code)
    assert facts == [False, 3, 0], errors
    assert [each.name for each in stand_ins] == ["wandb", "tensorboard_logger"]


def test_other_packages_are_missed(tmp_path: Path) -> None:
    assert "No module named 'lion_pytorch'" in run(tmp_path, "import lion_pytorch")[2]


def test_installed_ones_are_switched_off_where_nobody_can_sign_in(tmp_path: Path) -> None:
    code = "import os\nprint(json.dumps([os.environ.get('WANDB_MODE'), os.environ.get('SWANLAB_MODE')]))"
    assert run(tmp_path, code)[0] == ["disabled", "disabled"]
    assert running.run(tmp_path, code, ("loggers.py", {"offline": False}))[0] == [None, None]


def test_curves_are_not_written_where_tensorboard_is_not_installed(tmp_path: Path) -> None:
    code = """
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter("runs")
writer.add_scalar("loss", 1.0, 2)
print(json.dumps([sys.modules["torch.utils.tensorboard"].__class__.__name__, Path("runs").exists()]))
"""
    hidden = "import sys\nsys.modules['tensorboard'] = None\n"
    (tmp_path / "sitecustomize.py").write_text(hidden)
    facts, stand_ins, errors = running.run(tmp_path, "import sys\n" + code, ("loggers.py", {}), library=".")
    assert facts == ["Silent", False], errors
    assert [each.name for each in stand_ins] == ["tensorboard"]
