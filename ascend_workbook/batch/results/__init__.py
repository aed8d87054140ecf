"""What became of a plan: its page, summary.json, junit.xml, and what changed since an earlier time."""

from ascend_workbook.batch.results.publish import publish_results

__all__ = ["publish_results"]
