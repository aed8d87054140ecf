"""The machine: its CANN, devices, packages, versions, and the processes that are started on it."""
