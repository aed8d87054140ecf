"""Numbers of two dumps held against each other: files in blocks, metrics, tolerances, worker processes and Dask."""
