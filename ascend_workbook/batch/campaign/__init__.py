"""All runs of a plan, side by side, each in a process of its own, and what became of them."""
