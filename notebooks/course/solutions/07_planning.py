# Solutions of the exercises on planning, for teachers and tests: the piece of each task stands in place of the stub.
# A student's package does not hold this file.

# %% fit
def why_not():
    width, inner, layers, words = 4096, 11008, 32, 32000
    parameters = 2 * words * width + layers * (4 * width * width + 3 * width * inner + 2 * width) + width
    one_copy = 2 * parameters / 2**30
    return {
        "weights": one_copy,
        "gradients": one_copy,
        "optimizer": 2 * one_copy,
        "temporary": one_copy,
        "breaks": "temporary",
        "change": ["--parallel", "fsdp"],
    }


# %% launches
def arguments():
    return ["--size", "tiny", "--batch-size", "2048"]
