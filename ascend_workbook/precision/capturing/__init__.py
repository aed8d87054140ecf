"""What `capture` is made of: options, the budget and what was written, the manifest, replacing, failures."""
