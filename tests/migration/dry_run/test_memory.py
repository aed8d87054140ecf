"""Smaller configurations: found in argparse, click, configurators and dataclasses, put into the given arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.migration.dry_run.memory import reduce_training
from tests.conftest import ROOT

ARGPARSE = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("-b", "--batch-size", type=int, default=256)  # 批大小
parser.add_argument("--n_layer", type=int, default=12)
parser.add_argument("--hidden_size", type=int, default=768)
parser.add_argument("--num_heads", type=int, default=12)
parser.add_argument("--depth", type=int, default=50, choices=(18, 50))
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--layers", type=str, default="3,4")
parser.add_argument("--hidden-act", default="gelu", type=str)
parser.add_argument("--batch-norm", action="store_true")
parser.add_argument("--seq-len", type=int, default=16)
"""


def _script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "train.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_are_lowered_and_the_rest_is_left(tmp_path: Path) -> None:
    changes, words = reduce_training(_script(tmp_path, ARGPARSE), ["--lr", "1"])
    assert words == ["--lr", "1", "--batch-size", "2", "--n_layer", "2", "--hidden_size", "192", "--depth", "18"]
    assert [str(change.option.place) for change in changes][0] == "train.py:4"


def test_given_arguments_are_replaced_where_they_stand(tmp_path: Path) -> None:
    _, words = reduce_training(_script(tmp_path, ARGPARSE), ["-b", "64", "--n_layer=48", "--seq-len", "4096"], nproc=4)
    assert words[:4] == ["-b", "8", "--n_layer=2", "--seq-len"] and words[4] == "64"


def test_a_configurator_takes_joined_words(tmp_path: Path) -> None:
    text = "n_layer = 12\nbatch_size = 5 * 8\nname = 'x'\nexec(open('configurator.py').read())\n"
    _, words = reduce_training(_script(tmp_path, text), ["--n_layer=24"])
    assert words == ["--n_layer=2", "--batch_size=2"]


def test_dataclasses_of_a_trainer(tmp_path: Path) -> None:
    text = (
        "from dataclasses import dataclass, field\nfrom transformers import HfArgumentParser, TrainingArguments\n"
        "@dataclass\nclass Data:\n    max_source_length: int = field(default=1024)\n    name: str = ''\n"
        "HfArgumentParser((Data, TrainingArguments))\n"
    )
    _, words = reduce_training(_script(tmp_path, text), [])
    assert words == ["--max_source_length", "64", "--per_device_train_batch_size", "2"]


def test_options_of_a_module_beside_it(tmp_path: Path) -> None:
    (tmp_path / "options.py").write_text("def add(p):\n    p.add_argument('--d_model', type=int, default=4096)\n")
    changes, _ = reduce_training(_script(tmp_path, "import options\n"), [])
    assert str(changes[0].option.place) == "options.py:2"


@pytest.mark.parametrize("text", ["x = 1\n", ARGPARSE.replace("default=", "default=1 if x else ")])
def test_nothing_is_made_up(tmp_path: Path, text: str) -> None:
    changes, words = reduce_training(_script(tmp_path, text.replace("type=int", "type=str")), ["--a"])
    assert not changes and words == ["--a"]


def test_the_bundled_scripts_have_smaller_configurations() -> None:
    for script in (ROOT / "notebooks" / "scripts").glob("*.py"):
        assert reduce_training(script, [])[0], script.name
