"""torch's own operator database on the CPU and on the simulated NPU, entry by entry, in children."""
