"""Started by file path: runs msprobe's ConfigChecker on two recorded sides. Argument: the folder of sides.json.

Each side is packed as if this process were that machine: its variables in os.environ and nothing else, its packages
in importlib.metadata. msprobe tells an NPU's side by a variable that has ASCEND in its name.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

NPU_MARK = "ASCEND_HOME_PATH"


class _Recorded(metadata.Distribution):
    """An installed package as importlib.metadata gives one, from the record."""

    def __init__(self, name: str, version: str) -> None:
        self.text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"

    def read_text(self, filename: str) -> str | None:
        return self.text if filename in ("METADATA", "PKG-INFO") else None

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(path)


def main(folder: Path) -> None:
    sides: list[dict[str, Any]] = json.loads((folder / "sides.json").read_text(encoding="utf-8"))
    sys.modules.setdefault("torch_npu", None)  # type: ignore[arg-type]  # this process is neither machine
    from msprobe.core.config_check import ConfigChecker

    packs = [folder / name for name in ("bench.zip", "cmp.zip")]
    for side, pack in zip(sides, packs):
        os.environ.clear()
        os.environ.update(side["environment"])
        if str(side["machine"].get("tier", "")).startswith("npu"):
            os.environ[NPU_MARK] = "recorded"
        recorded = [_Recorded(name, version) for name, version in side["packages"].items()]
        setattr(metadata, "distributions", lambda recorded=recorded, **_: recorded)  # noqa: B010 - mypy forbids `=`
        ConfigChecker(output_zip_path=str(pack))
    ConfigChecker.compare(str(packs[0]), str(packs[1]), str(folder / "result"))


if __name__ == "__main__":
    sys.path = [entry for entry in sys.path if entry != sys.path[0]]
    main(Path(sys.argv[1]))
