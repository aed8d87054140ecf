"""The capstone: one script that the student has not seen, through all four stages, each judged by the stage's reports.

    check_stage("environment", where, run)
    handed_in(run, "en")

Decisions are plain data; the reports of each stage are kept as `ascend-workbook run` keeps them, so that `accept` reads
them. A later stage takes the script as the migration left it.
"""

from course.capstone.stages import SCRIPT, STAGES, check_stage, handed_in

__all__ = ["SCRIPT", "STAGES", "check_stage", "handed_in"]
