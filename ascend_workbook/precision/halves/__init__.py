"""Sixteen-bit training as data: where a run's gradients lie in a format's range, and what its loss scale did.

from ascend_workbook.precision.halves import gradient_exponents, scale_history, scale_moves
gradient_exponents("runs/demo/baseline", scale=65536)    # of a capture of the backward
scale_history("runs/demo/npu/output.log")                # of a log that prints loss_scale
scale_moves("runs/demo/npu/output.log")"""

from ascend_workbook.precision.halves.exponents import BFLOAT16, FLOAT16, Half, gradient_exponents
from ascend_workbook.precision.halves.history import scale_history, scale_moves

__all__ = ["BFLOAT16", "FLOAT16", "Half", "gradient_exponents", "scale_history", "scale_moves"]
