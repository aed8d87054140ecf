"""The migration stage: what in a CUDA script needs which repair, the migrated script, and its dry run.

scan.py, rewrite/, dry_run/, operators/ and assess.py hold the verbs; reading/ and texts/ the facts (a Python file, any
other file) that rules/ judge.
"""
