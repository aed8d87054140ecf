"""Small faults planted in copies of the code: a test suite that bites finds nine in ten of them."""
