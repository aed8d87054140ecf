"""The notebooks run headless, one after the other, into one run folder with one index page.

`run` is the verb; papermill is the engine. A stage that is already good for the same inputs is reused. `run_plan` does
so for all runs of a plan, side by side; `list_plan` shows them, `join_shards` makes one page of a plan's shards.
`accept` tells whether a migration can be accepted.
"""

from ascend_workbook.batch.acceptance import accept
from ascend_workbook.batch.campaign.run import run_plan
from ascend_workbook.batch.join import join_shards
from ascend_workbook.batch.plan.selection import Selection, list_plan, parse_shard
from ascend_workbook.batch.stages import ALL_STAGES, STAGES
from ascend_workbook.batch.workbook import run

__all__ = ["ALL_STAGES", "STAGES", "Selection", "accept", "join_shards", "list_plan", "parse_shard", "run", "run_plan"]
