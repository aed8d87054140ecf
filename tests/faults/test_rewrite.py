"""`rewrite` is cut off at each thing that it writes: each script is old or new, and its way back is whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.points import FAULTS, Attack, attack_points

FILES = {
    "train.py": "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\ntorch.cuda.synchronize()\n",
    "pkg/data.py": "import torch\n\n\ndef move(x):\n    return x.to('cuda:0')\n",
    "pkg/big.py": "import torch\n\ntorch.cuda.empty_cache()\n" + "# 注释\n" * 5000,
}
#: One edit a file: the pair of imports that stands before `import torch`.
IMPORTS = "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n"
#: In `data.py` nothing is edited: transfer_to_npu answers for it.
AFTER = {name: (IMPORTS if name != "pkg/data.py" else "") + text for name, text in FILES.items()}


def prepare(here: Path) -> None:
    for name, text in FILES.items():
        (here / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (here / "src" / name).write_text(text, encoding="utf-8")


def check_in_place(here: Path) -> None:
    for name, text in AFTER.items():
        assert (here / "src" / name).read_text(encoding="utf-8") == text, name
        if text != FILES[name]:
            assert (here / "src" / f"{name}.orig").read_text(encoding="utf-8") == FILES[name], name


def check_old_or_new(here: Path) -> None:
    for name, before in FILES.items():
        text = (here / "src" / name).read_text(encoding="utf-8")
        assert text in (before, AFTER[name]), name
        backup = here / "src" / f"{name}.orig"
        assert backup.exists() or text == before, name
        assert not backup.exists() or backup.read_text(encoding="utf-8") == before, name


IN_PLACE = Attack(("ascend-workbook", "rewrite", "{here}/src", "--in-place"), prepare, check_in_place, check_old_or_new)


@pytest.mark.parametrize("fault", FAULTS[1:])
@pytest.mark.parametrize("most", [2, pytest.param(60, marks=pytest.mark.full)])
def test_in_place(tmp_path: Path, fault: str, most: int) -> None:
    attack_points(IN_PLACE, tmp_path, fault, most)
