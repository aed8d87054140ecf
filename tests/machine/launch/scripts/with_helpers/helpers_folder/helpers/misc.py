WHOSE = "the user's helpers/ folder, without __init__.py"
