"""ModelArts' image, played on this machine: folders, user, variables. layout.py makes it, cases.py the variables,
process.py starts the boot file in it, rehearsal.py the report."""

from ascend_workbook.modelarts.imitation.rehearsal import rehearse_job

__all__ = ["rehearse_job"]
