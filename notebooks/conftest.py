"""What nbval runs here runs as the committed outputs were made: without boxes, rounding the same on every machine."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.conftest import PINNED

os.environ.update(PINNED)
