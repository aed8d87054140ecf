"""Planning: rehearse a training at its full size without an NPU, and choose how to spread it over cards."""

from ascend_workbook.findings.finding import Remarks

#: Of a plan: what is equal, by what it was judged, the host, the script's own strategy, the batch, the cost
PLANNED = ("PLN541", "PLN542", "PLN543", "PLN544", "PLN545", "PLN531")
REMARKS = Remarks(
    answers=("PLN501", "PLN502.holders", "PLN503", "PLN504", "PLN505", "PLN506", "PLN507", "PLN508", "PLN509", *PLANNED)
)
