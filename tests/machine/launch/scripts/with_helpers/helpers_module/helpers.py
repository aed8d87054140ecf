WHOSE = "the user's helpers.py"
