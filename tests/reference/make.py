"""Makes the reference notebooks anew: the English ones through papermill with the parameters of parameters.json.

    python tests/reference/make.py                all
    python tests/reference/make.py 02 course/03   only those whose names begin so

Look at the difference before you commit it: these outputs are what every test run is held to.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "notebooks")]


def main() -> int:
    import build
    import nbformat
    import papermill

    from tests.conftest import PINNED

    os.environ.update(PINNED)
    parameters = json.loads((HERE / "parameters.json").read_text(encoding="utf-8"))
    for source in build.sources():
        name = build.name_of(source)
        if sys.argv[1:] and not name.startswith(tuple(sys.argv[1:])):
            continue
        target = HERE / f"{name}.ipynb"
        papermill.execute_notebook(
            str(build.built(source, "en")), str(target),
            parameters=parameters[name], kernel_name="python3", progress_bar=False, cwd=str(target.parent),
        )
        nbformat.write(build.strip(nbformat.read(target, 4)), target)
        print(target.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
