"""What a benchmark's figures say: its rules by CODE, each a check of the bench. Codes PRF37x."""
