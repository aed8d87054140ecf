"""`launch_facts`: what a platform, a scheduler or a launcher says of a distributed job, as one description.

claims.py reads variables, rank_table.py HCCL's file; job.py makes one description of them and the command that starts
the training, report.py holds them against each other.
"""

from ascend_workbook.environment.launching.report import launch_facts

__all__ = ["launch_facts"]
