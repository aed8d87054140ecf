"""Must be able to tidy up when it is stopped; swallows the stop if told to."""

import pathlib
import sys

import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
try:
    for step in range(100):  # noqa: B007
        model(torch.ones(2, 4)).sum().backward()
        try:
            optimizer.step()
        except SystemExit:
            if "stubborn" not in sys.argv:
                raise
        except Exception:  # noqa: BLE001
            print("an Exception: the stop must not be one")
finally:
    pathlib.Path("tidy.txt").write_text(f"{step}")
