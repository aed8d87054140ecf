"""The verbs as commands: a file each, named after its verb, with its `VERB`."""
