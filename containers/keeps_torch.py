"""Runs a command that fills an environment, and fails where that environment then sees another torch or torch_npu than
this Python had before: an image's pair belongs to its CANN.

python3 containers/keeps_torch.py .venv/bin/python COMMAND ...
"""

from __future__ import annotations

import json
import subprocess
import sys

#: Asked of the metadata: importing torch_npu needs a driver.
ASK = """
import importlib.metadata as m, json
kept = {"torch", "torch_npu", "torchvision", "torchaudio"}
found = ((str(each.metadata["Name"]).lower().replace("-", "_"), each.version) for each in m.distributions())
first = {}
for name, version in found:
    first.setdefault(name, version)  # what stands first on the path is what is imported
print(json.dumps({name: version for name, version in first.items() if name in kept}))
"""


def pair(python: str) -> dict[str, str]:
    """Version by name of what a Python sees."""
    done = subprocess.run([python, "-c", ASK], stdout=subprocess.PIPE, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> int:
    before = pair(sys.executable)
    code = subprocess.call(sys.argv[2:])
    if code:
        return code
    after = pair(sys.argv[1])
    changed = {name: (version, after.get(name)) for name, version in before.items() if after.get(name) != version}
    for name, (had, has) in changed.items():
        print(f"keeps_torch: {name} was {had}, and is {has}: the image's pair was touched", file=sys.stderr)
    return 3 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
