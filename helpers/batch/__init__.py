"""The notebooks run headless, one after the other, into one run folder with one index page.

`run` is the verb; papermill is the engine. A stage that is already good for the same inputs is reused. `run_plan` does
so for all runs of a plan, side by side; `list_plan` shows them, `join` makes one page of a plan's shards. `accept`
tells whether a migration can be accepted.
"""

from helpers.batch.acceptance import accept
from helpers.batch.campaign import run_plan
from helpers.batch.plan import Selection, list_plan, parse_shard
from helpers.batch.shards.join import join
from helpers.batch.workbook import STAGES, run

__all__ = ["STAGES", "Selection", "accept", "join", "list_plan", "parse_shard", "run", "run_plan"]
