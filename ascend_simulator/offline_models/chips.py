"""Chips that --soc_version names, and which of them have bfloat16."""

from __future__ import annotations

import re

from .errors import ConversionError, refuse_value

#: The names in torch_npu's table of chips: https://github.com/Ascend/pytorch, torch_npu/csrc/core/npu/NpuVariables.cpp,
#: and those of the first chips. There too (`IsBF16Supported`): bfloat16 begins with the second row of each pair below;
#: so ATC's page of CANN 8.0.RC3 (https://www.hiascend.com, atlasatc_16_0102): on Atlas A2 and Atlas 200/500 A2 alone.
WITHOUT_BFLOAT16 = (
    *("Ascend310", "Ascend310P1", "Ascend310P2", "Ascend310P3", "Ascend310P4", "Ascend310P5", "Ascend310P7"),
    *("Ascend910", "Ascend910A", "Ascend910B", "Ascend910ProA", "Ascend910ProB", "Ascend910PremiumA"),
)
WITH_BFLOAT16 = (
    *("Ascend310B1", "Ascend310B2", "Ascend310B3", "Ascend310B4"),
    *("Ascend910B1", "Ascend910B2", "Ascend910B2C", "Ascend910B3", "Ascend910B4", "Ascend910B4-1"),
    *("Ascend910_9391", "Ascend910_9392", "Ascend910_9381", "Ascend910_9382", "Ascend910_9372", "Ascend910_9362"),
)
#: Later chips, whose names are in no public table that was looked at; and a slice of a chip, behind its name.
LATER, SLICE = re.compile(r"Ascend9[5-9]\w*"), re.compile(r"Vir\d\d(_\w+)?$")


def judge_chip(name: str, reduced: str) -> list[str]:
    """Return warnings on a chip that computes in the reduced format. Raises ConversionError for one that cannot be."""
    chip = SLICE.sub("", name)
    if LATER.fullmatch(chip):
        return [f"{name} is later than the table of chips here: whether it is one and what it can was not looked at"]
    if chip not in (*WITHOUT_BFLOAT16, *WITH_BFLOAT16):
        known = ", ".join((*WITHOUT_BFLOAT16, *WITH_BFLOAT16))
        reason = f"expected Ascend and the chip's name, as npu-smi info shows it: one of {known}"
        raise refuse_value("soc_version", name, reason)
    if reduced == "BFLOAT16" and chip in WITHOUT_BFLOAT16:
        raise ConversionError(f"{name} has no bfloat16, which the precision mode asks for: choose one with float16")
    return []
