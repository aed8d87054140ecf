"""The rules of the migration stage: one file each, the folder is the registry.

A rule file has CODE, `check(source) -> findings`, EXAMPLES that fire, each as (code, class, code after the
rewrite or None), and NEAR_MISSES on which it must be silent. Both are its tests and its documentation.
"""
