"""Reads data, a module of another folder and a listing; writes and reads a file of its own; looks for one in vain."""

import os
import sys
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.append(str(folder / "elsewhere"))
import aside  # noqa: E402

text = (folder / "data.txt").read_text() + aside.WORD
(folder / "own.txt").write_text(text)
(folder / "own.txt").read_text()
sorted(os.listdir(folder / "images"))  # noqa: PTH208
if (folder / "config.json").exists() or len(sys.argv) > 2:
    try:
        (folder / "config.json").read_text()
    except FileNotFoundError:
        print("no config")
if os.fork() == 0:
    (folder / "late.txt").read_text()
    os._exit(0)
os.wait()
