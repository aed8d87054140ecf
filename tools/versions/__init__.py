"""`make test-versions`: the pairs of torch and torch_npu that this runs with, each tried in its environment."""
