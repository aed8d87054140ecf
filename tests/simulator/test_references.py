"""The references of torch_npu's own operators as a Python package: importable anywhere, found by name, listed whole."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ascend_simulator.libraries.building import names_of_references, names_with_dtypes
from ascend_simulator.libraries.plan import REFERENCES
from ascend_simulator.references import all_references, reference_of
from tests.conftest import ROOT


def test_the_list_that_the_build_writes_is_what_is_registered() -> None:
    assert names_of_references(REFERENCES) == sorted(all_references())
    assert len(names_of_references(REFERENCES)) > 100
    known = {name for name, found in all_references().items() if found.dtypes and name.startswith("npu::")}
    assert names_with_dtypes(REFERENCES) == known


def test_they_need_neither_torch_npu_nor_the_rest_of_the_package() -> None:
    code = "import sys, ascend_simulator.references as r; r.all_references(); print('torch_npu' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_reference_is_found_by_name_and_computes_in_float64() -> None:
    x, gamma = torch.randn(4, 8, dtype=torch.float64), torch.randn(8, dtype=torch.float64)
    y, rstd = reference_of("npu::npu_rms_norm")(x, gamma, epsilon=1e-6)
    torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (8,), gamma, 1e-6))
    assert y.dtype == rstd.dtype == torch.float64
    with pytest.raises(KeyError):
        reference_of("npu::no_such_operator")


def test_a_reference_is_differentiable() -> None:
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(reference_of("npu::npu_swiglu"), x)
    grad = torch.randn(3, 2, dtype=torch.float64)
    (expected,) = torch.autograd.grad(reference_of("npu::npu_swiglu")(x), x, grad)
    torch.testing.assert_close(reference_of("npu::npu_swiglu_backward")(grad, x.detach()), expected)


def test_every_module_says_where_its_formulas_come_from() -> None:
    for path in sorted(Path(REFERENCES).glob("*.py")):
        assert path.read_text(encoding="utf-8").startswith('"""'), path.name


def test_what_a_reference_checks_and_writes_are_its_arguments() -> None:
    for reference in all_references().values():
        parameters = set(inspect.signature(reference.function).parameters)
        assert set(reference.dtypes) <= parameters, reference.name
        assert reference.random == ("generator" in parameters), reference.name
