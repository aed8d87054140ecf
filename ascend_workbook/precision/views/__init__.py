"""A comparison as its readers want it: a report a question, test cases, a table of layers, CSV, fixed limits."""
