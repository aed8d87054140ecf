"""The command line: options from signatures, help from the catalogue, wrong lines answered with the next step."""
