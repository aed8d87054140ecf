"""One task a file: ORDER in the notebook, and TASK with its check."""
