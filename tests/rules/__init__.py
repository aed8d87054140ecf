"""Examples of every rule outside the migration stage: facts in memory, and all that the rule says of them."""
