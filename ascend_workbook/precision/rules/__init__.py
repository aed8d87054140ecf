"""What is said about two captures: its rules by CODE, each a check of the comparison."""

from ascend_workbook.findings.finding import Remarks

#: A target metric that was reached, final values beside one another, what nothing on these files tells.
REMARKS = Remarks(answers=("ACC255", "ACC205.no_manifest", "ACC215.order"), summaries=("ACC259",))
