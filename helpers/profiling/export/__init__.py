"""A profile in the forms that other programs read."""
