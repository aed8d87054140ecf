"""A scanner of events in C++, many times as fast as records in Python; it leaves to these whatever is odd."""
