"""Stage 1, environment: what this machine is, whether it can train on an NPU, and what to do where it cannot."""
