"""The migration stage: what in a CUDA script needs which repair, the migrated script, and its dry run.

scan.py, rewrite.py and dry_run.py hold the verbs; source.py and names.py the facts that rules/ judge.
"""
