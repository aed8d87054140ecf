"""Training watched step by step, without dumps: a small file of norms, and what is wrong with a step.

child/watch.py (rides in the training) -> watch.jsonl -> reading -> child/watch_rules.py (the same rules) -> findings ->
verb; inline.py is the same for a script that watches itself."""

from ascend_workbook.precision.watching.inline import Watcher, watch_training
from ascend_workbook.precision.watching.live import follow_watched
from ascend_workbook.precision.watching.verb import watch

__all__ = ["Watcher", "follow_watched", "watch", "watch_training"]
