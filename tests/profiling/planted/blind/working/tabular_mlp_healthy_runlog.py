import json
import os
import tempfile
import numpy as np


class RunLog:
    def __init__(self):
        self.file = open(os.path.join(tempfile.mkdtemp(), "run.jsonl"), "w")

    def scalar(self, name, value):
        self.file.write(json.dumps({name: float(value)}) + "\n")

    def weights(self, step, module):
        for name, p in module.named_parameters():
            for kind, tensor in (("w", p), ("g", p.grad)):
                counts, edges = np.histogram(tensor.detach().cpu().numpy(), bins=30)
                self.file.write(json.dumps({"step": step, "name": name, "kind": kind, "counts": counts.tolist(), "edges": edges.tolist()}) + "\n")
        self.file.flush()
