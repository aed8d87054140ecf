"""Prints what a script can know about how it was started."""

import json
import os
import pickle
import sys

import torch


class Mine:
    pass


model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1, 1)).sum().backward()
optimizer.step()

if __name__ == "__main__":
    main = sys.modules["__main__"]
    facts = {
        "argv": sys.argv,
        "path0": sys.path[0],
        "file": __file__,
        "main_file": main.__file__,
        "spec": None if __spec__ is None else __spec__.name,
        "package": __package__,
        "doc": __doc__,
        "cached": globals().get("__cached__"),
        "loader": type(__loader__).__name__,
        "pickled": type(pickle.loads(pickle.dumps(Mine()))) is Mine,
        "cwd": os.getcwd(),  # noqa: PTH109
        "ours": sorted(
            name
            for name in sys.modules
            if name.split(".")[0] in ("helpers", "course", "ascend_workbook", "ascend_simulator")
        ),
        "annotated": "__annotations__" in globals(),
    }
    print("FACTS " + json.dumps(facts, sort_keys=True))
