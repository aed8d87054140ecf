"""What a benchmark's figures say: one rule a file, each with CODE and `check(bench)`. Codes PRF37x."""
