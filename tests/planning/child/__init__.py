"""Tests of what rides in a rehearsed process."""
