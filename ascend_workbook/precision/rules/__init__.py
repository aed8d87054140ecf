"""What is said about two captures: its rules by CODE, each a check of the comparison."""
