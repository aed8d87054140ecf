"""Planning: rehearse a training at its full size without an NPU, and choose how to spread it over cards."""

from ascend_workbook.findings.finding import Remarks

REMARKS = Remarks(answers=("PLN501", "PLN502.holders", "PLN503", "PLN504", "PLN505", "PLN506", "PLN507", "PLN508"))
