"""ModelArts as a batch platform: a training job that runs the workbook, or a training script, without anyone there.

boot.py is what the platform starts; role.py says what this one process is to do, mark.py that it works, work.py where
it may write, brings data, starts the work and takes results away. configuration.py makes the job's description,
imitation.py plays the image on this machine, so that rehearsal.py tries a job before it costs anything.
links.py makes addresses that open one notebook in ModelArts.
"""

from ascend_workbook.modelarts.configuration import JobRequest, describe_job
from ascend_workbook.modelarts.links import launch_links, make_launch_link
from ascend_workbook.modelarts.rehearsal import rehearse_job

__all__ = ["JobRequest", "describe_job", "make_launch_link", "launch_links", "rehearse_job"]
