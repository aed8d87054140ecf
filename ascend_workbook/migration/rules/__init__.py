"""The rules of the migration stage: one file each, the folder is the registry.

A rule file has CODE, KNOWN, the words without which it has nothing to say, and `check(source) -> findings`. Code on
which it fires, and near misses on which it must be silent, are in tests/migration/examples.
"""
