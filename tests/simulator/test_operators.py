"""The list of operators says of each what is known of its data types, and where not, that it is not. About 5 s."""

from __future__ import annotations

import pytest

from ascend_simulator.coverage.entries import UNKNOWN
from ascend_simulator.libraries.plan import find_package
from ascend_simulator.libraries.stubs import list_wrappers
from ascend_workbook.findings.report import Report
from ascend_workbook.machine import simulator
from ascend_workbook.machine.simulator.operators import dtype_lists, list_operators


@pytest.fixture(scope="module")
def listed(simulator_env: dict[str, str]) -> Report:
    return list_operators(simulator.simulator_location(), simulator_env)


def test_every_operator_has_a_list_with_its_source_or_says_that_none_is_known(listed: Report) -> None:
    assert listed.table
    assert len(listed.table.rows) > 1500
    for name, state, types, source in listed.table.rows:
        assert bool(source) == bool(types and types != UNKNOWN), name
        assert types or state in ("fallback", "composite"), name


def test_rows_say_what_the_documents_say(listed: Report) -> None:
    assert listed.table
    rows = {str(row[0]): row[1:] for row in listed.table.rows}
    assert rows["aten::mm"][:2] == ("simulated", "self=float")
    assert rows["aten::mm"][2] == "aclnnMm: https://gitcode.com/Ascend/pytorch, docs/zh/api/native_api (torch.mm)"
    assert str(rows["aten::elu_backward"][2]).startswith("aclnnEluBackward: https://www.hiascend.com/document/")
    assert rows["npu::npu_fast_gelu"][:2] == ("simulated", "input=float32,float16,bfloat16")
    assert "custom_APIs/torch_npu" in str(rows["npu::npu_fast_gelu"][2])
    assert rows["npu::npu_format_cast"] == ("simulated", UNKNOWN, "")  # no reference checks its arguments
    assert "route=" in str(rows["aten::_foreach_exp"][1]) and rows["aten::_foreach_exp"][1] != UNKNOWN
    assert {types for state, types, _ in rows.values() if state == "fallback"} == {""}


def test_the_table_is_read_by_operator() -> None:
    found = dtype_lists("# comment\n\nabs abs.out | aclnnAbs | Ascend/a.md | self=float\n")
    source = "aclnnAbs: https://gitcode.com/Ascend/a.md"
    assert found == {"aten::abs": ("self=float", source), "aten::abs.out": ("self=float", source)}


def test_device_checks_are_those_of_the_installed_torch_npu(simulator_env: dict[str, str]) -> None:
    found = list_wrappers(find_package("torch_npu", simulator.simulator_location() / "python"))
    assert {"wrapper_NPU__mm", "wrapper_NPU_out_acosh_out"} <= set(found)
    assert "wrapper_NPU_Tensor_add" not in found  # left to the kernel, which takes a scalar on the CPU
    written = (simulator.simulator_location() / "device_checks.txt").read_text(encoding="utf-8").splitlines()
    assert written == found
