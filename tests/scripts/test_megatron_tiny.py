"""megatron_tiny.sh: what it refuses, the copies it makes, what it calls alike; with the sources, the whole of it.

The whole takes about two minutes on a quiet machine and is marked `full`. MEGATRON and MINDSPEED name the folders.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

FOLDER = ROOT / "notebooks" / "scripts"
TOOL = FOLDER.parent / "megatron/sides.py"
SCRIPT = """import torch
from functools import partial
from megatron.core import mpu

if __name__ == "__main__":
    print(mpu)
"""
LINE = " [2026-11-28 14:47:59] iteration {step:8}/      10 | lm loss: {loss:E} | loss scale: 1.0 | grad norm: 1.8 |\n"


def call(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOOL), *map(str, words)], capture_output=True, text=True, check=False)


def make_sources(folder: Path) -> tuple[Path, Path]:
    """Write what the copies are made of: a Megatron-LM of two scripts and a module, a MindSpeed of core 0.8."""
    megatron, mindspeed = folder / "Megatron-LM", folder / "MindSpeed"
    files = {
        megatron / "pretrain_gpt.py": SCRIPT,
        megatron / "tools" / "preprocess_data.py": SCRIPT,
        megatron / "megatron" / "core" / "mpu.py": "from pkg_resources import packaging\n",
        mindspeed / "mindspeed" / "megatron_adaptor.py": "",
        mindspeed
        / "mindspeed/core/transformer/moe/grouped_gemm_util.py": "def get_device_capability():\n    return 9, 0\n",
    }
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return megatron, mindspeed


def test_without_sources_it_says_what_to_fetch(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("MEGATRON", "MINDSPEED")}
    done = subprocess.run(
        ["bash", str(FOLDER / "megatron_tiny.sh"), str(tmp_path / "out")],
        env={**env, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "MEGATRON is to be a folder that holds pretrain_gpt.py; it is not given" in done.stderr
    assert "git clone --branch core_v0.12.1" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    megatron, mindspeed = make_sources(tmp_path)
    done = call("check", "--megatron", megatron, "--mindspeed", mindspeed, "--out", megatron)
    assert done.returncode == 2
    assert "is there already" in done.stderr or "are missing: pip install" in done.stderr


def test_the_copies_are_what_the_rules_make_of_them(tmp_path: Path) -> None:
    megatron, mindspeed = make_sources(tmp_path)
    out = tmp_path / "out"
    out.mkdir()
    done = call("prepare", "--megatron", megatron, "--mindspeed", mindspeed, "--out", out)
    assert done.returncode == 0, done.stderr
    adapted = (
        "import torch\nimport mindspeed.megatron_adaptor\n"
        "torch.cuda.get_device_capability = lambda device=None: (9, 0)\n" + SCRIPT.partition("\n")[2]
    )
    for name in ("pretrain_gpt.py", "tools/preprocess_data.py"):
        assert (out / "npu" / name).read_text() == adapted
        assert (out / "cpu" / name).read_text() == (megatron / name).read_text() == SCRIPT
    for side in ("npu", "cpu"):
        assert (out / side / "megatron/core/mpu.py").read_text() == "import packaging.version\n"
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["MIG331", "MIG330", "MIG330", "MIG332"]
    vocabulary = json.loads((out / "data/vocab.json").read_text())
    assert sorted(vocabulary.values()) == list(range(260)) and {"<|endoftext|>", "Ġthe", "a"} <= vocabulary.keys()
    assert len((out / "data/tiny.json").read_text().splitlines()) == 400


@pytest.mark.parametrize(
    ("npu", "cpu", "code", "says"),
    [
        ([5.5, 5.4], [5.5, 5.4], 0, "losses agree: at most 0.0e+00 apart"),
        ([5.5, 5.4001], [5.5, 5.4], 1, "losses DIFFER: at most 1.9e-05 apart"),
        ([5.5], [5.5, 5.4], 1, "no loss in"),
        ([], [], 1, "losses DIFFER: at most inf apart"),
        ([5.5, float("nan")], [5.5, float("nan")], 1, "losses DIFFER"),
    ],
)
def test_losses_agree_only_where_every_step_has_one(
    tmp_path: Path, npu: list[float], cpu: list[float], code: int, says: str
) -> None:
    for name, losses in (("npu", npu), ("cpu", cpu)):
        lines = (LINE.format(step=step, loss=loss) for step, loss in enumerate(losses, 1))
        (tmp_path / name).write_text("".join(lines))
    done = call("compare", tmp_path / "npu", tmp_path / "cpu", "--steps", 2)
    assert (done.returncode, says in done.stdout) == (code, True), done.stdout + done.stderr


@pytest.mark.full
@pytest.mark.skipif(
    not (os.environ.get("MEGATRON") and os.environ.get("MINDSPEED")),
    reason="MEGATRON and MINDSPEED do not name the folders of Megatron-LM and MindSpeed",
)
def test_four_simulated_npus_train_as_the_cpu(tmp_path: Path, simulator_env: dict[str, str]) -> None:
    done = subprocess.run(
        ["bash", str(FOLDER / "megatron_tiny.sh"), str(tmp_path / "out")],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "losses agree" in done.stdout
