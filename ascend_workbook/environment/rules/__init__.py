"""The rules of the environment check: one rule one file, the folder is the registry. Facts: `machine.Machine`."""
