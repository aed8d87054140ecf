"""`migrate`: a script in, a project that trains on the NPU out, in rounds.

The repository is copied whole into a git repository of its own, rewritten, and dry-run on the baseline and on the NPU.
Where a side fails, a cure from the registry (cures/) mends the cause, one commit each, and the run is made again, until
the training runs and its losses agree with the baseline's, or a person has to decide. The user's own files are read
and never written.
"""

from ascend_workbook.migration.loop.verb import migrate

__all__ = ["migrate"]
