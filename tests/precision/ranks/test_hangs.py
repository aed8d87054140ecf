"""Two ranks that wait for one another: each is named, and what they recorded is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.precision.capture import capture
from ascend_workbook.precision.ranks.reading import read_records

SCRIPT = """
import os, sys, torch, torch.distributed as dist
from torch import nn
dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
model = nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    model(torch.randn(2, 4).cuda()).sum().backward()
    odd = step == 1 and rank == 1
    if odd and sys.argv[1] == "early":
        sys.exit(0)
    dist.all_reduce(model.weight.grad)
    if odd and sys.argv[1] == "order":
        dist.broadcast(model.bias.grad, 0)
    dist.all_reduce(model.bias.grad)
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "other"), [("order", "rank 1 in `broadcast` number 3"), ("early", "rank 1 ended after step 0")]
)
def test_each_rank_is_named(tmp_path: Path, fault: str, other: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT, encoding="utf-8")
    out = tmp_path / "out"
    with pytest.raises(WorkbookError) as caught:
        capture(script, [fault], out=out, device="baseline", steps=3, nproc=2, estimate=False)
    text = caught.value.message("en")
    assert "rank 0 in `all_reduce`" in text
    assert other in text
    records = read_records(out)
    assert {call.step for call in records[1].calls} >= {0}
