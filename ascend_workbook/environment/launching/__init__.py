"""`launch_facts`: what a platform, a scheduler or a launcher says of a distributed job, as one description.

claims.py reads variables, rank_table.py HCCL's file, slurm.py host lists; job.py makes one description of them,
contradictions.py holds them against each other, line.py writes the command that starts the training.
"""

from ascend_workbook.environment.launching.report import launch_facts

__all__ = ["launch_facts"]
