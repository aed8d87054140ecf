"""The verbs as commands: one file each with NAME, `configure(parser)` and `run(args) -> Report`."""
