"""What runs beside a user's training names nothing that torch has in newer releases alone."""

from __future__ import annotations

import re

import torch

from tests.conftest import ROOT

CHILDREN = [path for path in (ROOT / "ascend_workbook").rglob("*.py") if "child" in path.parts]


def test_the_base_of_tensors_is_found_without_its_name() -> None:
    """It is `_TensorBase` before torch 2.2."""
    assert torch.Tensor.__base__ is torch._C.TensorBase
    assert len(CHILDREN) > 50
    assert [path for path in CHILDREN if re.search(r"_C\._?TensorBase", path.read_text(encoding="utf-8"))] == []
