"""The allocator's settings act in a run of shapes only, because torch_npu's own allocator is what reserves. 15 s."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulator.shapes_only.running import run_shapes_only

#: Blocks that grow from step to step, as batches of growing length do: none fits where the one before it lay.
FRAGMENTING = """import json, torch
for size in range(100, 500, 20):
    block = torch.empty(size << 20, dtype=torch.uint8, device="npu")
    del block
print(json.dumps(torch.npu.memory_reserved() >> 20))
"""
LIMITED = """import json, torch
torch.npu.set_per_process_memory_fraction(0.25)
try:
    torch.empty(20 << 30, dtype=torch.uint8, device="npu")
    print(json.dumps("fits"))
except torch.OutOfMemoryError:
    print(json.dumps("out of memory"))
"""


def reserved(env: dict[str, str], folder: Path, setting: str) -> int:
    """Return what is reserved after the fragmenting script, in MiB."""
    run = run_shapes_only({**env, "PYTORCH_NPU_ALLOC_CONF": setting}, folder, FRAGMENTING)
    assert run.returncode == 0, run.stderr[-2000:]
    return int(run.facts)


def test_expandable_segments_fill_the_gaps(simulator_env: dict[str, str], tmp_path: Path) -> None:
    fixed, expandable = (reserved(simulator_env, tmp_path, f"expandable_segments:{word}") for word in ("False", "True"))
    assert fixed >= sum(range(100, 500, 20)) and 480 <= expandable <= 500


def test_garbage_is_collected_beyond_the_threshold(simulator_env: dict[str, str], tmp_path: Path) -> None:
    code = "import torch\ntorch.npu.set_per_process_memory_fraction(0.05)\n" + FRAGMENTING  # 3277 MiB
    run = run_shapes_only(
        {**simulator_env, "PYTORCH_NPU_ALLOC_CONF": "garbage_collection_threshold:0.6"}, tmp_path, code
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.facts < 0.05 * 65536


@pytest.mark.parametrize("size", [1, 40])
def test_a_block_larger_than_the_split_size_is_not_split(
    simulator_env: dict[str, str], tmp_path: Path, size: int
) -> None:
    code = f"""import json, torch
large = torch.empty(100 << 20, dtype=torch.uint8, device="npu")
del large
small = torch.empty({size} << 20, dtype=torch.uint8, device="npu")
print(json.dumps(torch.npu.memory_reserved() >> 20))
"""
    split = run_shapes_only(simulator_env, tmp_path, code).facts
    whole = run_shapes_only({**simulator_env, "PYTORCH_NPU_ALLOC_CONF": "max_split_size_mb:50"}, tmp_path, code).facts
    assert whole > split if size > 1 else whole >= split


def test_a_fraction_of_the_memory_is_the_limit(simulator_env: dict[str, str], tmp_path: Path) -> None:
    assert run_shapes_only(simulator_env, tmp_path, LIMITED).facts == "out of memory"


ADAM = """import json, torch, torch_npu
own = [torch.zeros(64 << 20, device="npu") for _ in range(4)]
before = torch.npu.max_memory_allocated()
numbers = (0.9, 0.999, 1e-4, 0.1, 0.9, 0.95, 1e-8)
given = torch_npu.npu_apply_adam_w(*numbers, own[0], None, False, False, out=tuple(own[1:]))
same = [each.data_ptr() == there.data_ptr() for each, there in zip(given, own[1:])]
print(json.dumps([torch.npu.max_memory_allocated() - before, same]))
"""


def test_adams_step_is_made_in_place(simulator_env: dict[str, str], tmp_path: Path) -> None:
    """Its schema does not say that the results are `out`."""
    run = run_shapes_only(simulator_env, tmp_path, ADAM)
    assert run.returncode == 0, run.stderr[-2000:]
    grown, same = run.facts
    assert grown < 1 << 20 and same == [True] * 3
