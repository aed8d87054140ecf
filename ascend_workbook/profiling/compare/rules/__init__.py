"""What two profiles are judged by, first of all whether they can be held against each other. Codes PRF38x."""
