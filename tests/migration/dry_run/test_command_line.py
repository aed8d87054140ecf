"""Launch commands: the script, its own arguments and the processes are found; what cannot be run here is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.migration.dry_run import command_line


@pytest.mark.parametrize(
    ("script", "args", "expected"),
    [
        ("train.py", ["--nproc_per_node=4"], ("train.py", ("--nproc_per_node=4",), 1)),
        ("torchrun", ["--nproc_per_node=2", "train.py", "--lr", "1"], ("train.py", ("--lr", "1"), 2)),
        ("torchrun --standalone --nproc-per-node 3 sub/train.py -x", [], ("sub/train.py", ("-x",), 3)),
        ("torchrun", ["--nnodes", "1", "--master_port", "29501", "train.py"], ("train.py", (), 1)),
        ("python -m torch.distributed.launch --use_env --nproc_per_node=2 train.py", [], ("train.py", (), 2)),
        ("python3.11", ["-u", "train.py", "--nproc_per_node", "9"], ("train.py", ("--nproc_per_node", "9"), 1)),
        ("accelerate launch --multi_gpu --num_processes 2 训练.py", ["--a", "b"], ("训练.py", ("--a", "b"), 2)),
    ],
)
def test_a_command_is_taken_apart(script: str, args: list[str], expected: tuple[str, tuple[str, ...], int]) -> None:
    path, own, nproc = command_line.read_command(script, args, 1)
    assert (path, own, nproc) == (Path(expected[0]).absolute(), *expected[1:])


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("torchrun --nproc_per_node=2", "command_line.no_script"),
        ("torchrun --nnodes=2 --nproc_per_node=2 train.py", "command_line.machines"),
        ("torchrun --nproc_per_node=gpu train.py", "command_line.processes"),
        ("torchrun --nproc_per_node=2 -m package.train", "command_line.module"),
    ],
)
def test_what_cannot_be_run_here_is_said(command: str, key: str) -> None:
    with pytest.raises(WorkbookError) as error:
        command_line.read_command(command, (), 1)
    assert error.value.key == key and error.value.hint("en") and error.value.hint("zh")


def test_a_script_whose_name_has_spaces_is_a_script(tmp_path: Path) -> None:
    script = tmp_path / "my train.py"
    script.write_text("", encoding="utf-8")
    assert command_line.read_command(str(script), ("-a",), 2) == (script, ("-a",), 2)
