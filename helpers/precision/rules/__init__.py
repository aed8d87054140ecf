"""What is said about two captures: one rule a file, its CODE and `check(comparison)`."""
