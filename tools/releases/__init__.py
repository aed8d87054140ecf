"""What each release of torch_npu has, read from its wheels: see `python -m tools.releases --help`."""
