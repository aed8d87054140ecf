"""What became of a plan: its page, summary.json, junit.xml, and what changed since an earlier time."""
