"""A script with the modules that it imports is one program: what stands in them counts, what else lies there not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_workbook.migration.rewrite import rewrite
from ascend_workbook.migration.scan import scan

FILES = {
    "train.py": "import torch\n\nfrom parts.model import net\n\nnet().cuda()\n",
    "parts/__init__.py": "",
    "parts/model.py": "from . import monitor\n\n\ndef net():\n    monitor.look()\n",
    "parts/monitor.py": "import pynvml\n\n\ndef look():\n    pynvml.nvmlInit()\n",
    "other.py": "import pynvml\n\npynvml.nvmlInit()\n",
    "requirements.txt": "torch\nflash-attn==2.5.0\n",
    "tools/old.py": "import torch\n\ntorch.cuda.synchronize()\n",
}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / "program" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path / "program" / "train.py"


def test_what_a_script_imports_is_looked_at_and_nothing_else(script: Path) -> None:
    alone, whole = scan(script), scan(script, imports=True)
    assert {finding.path for finding in _places(alone)} == {"train.py"}
    assert {finding.path for finding in _places(whole)} == {"train.py", "parts/monitor.py", "requirements.txt"}
    assert whole.facts["counts"]["unsupported"] > alone.facts["counts"]["unsupported"] == 0


def test_a_program_is_migrated_as_it_was_scanned_and_only_the_script_imports_torch_npu(
    script: Path, tmp_path: Path
) -> None:
    found = scan(script, imports=True)
    out = tmp_path / "out"
    done = rewrite(script, out, expect=found.facts["sha256"], imports=True)
    assert done.facts["files"] >= 4 and (out / "parts" / "monitor.py").is_file() and not (out / "other.py").exists()
    assert "import torch_npu" in (out / "train.py").read_text()
    assert (out / "parts" / "model.py").read_text() == FILES["parts/model.py"]
    assert rewrite(out / "train.py", imports=True).facts["sha256"] == {}, "a second time changes nothing"


def test_a_folder_is_the_same_with_and_without(script: Path) -> None:
    assert scan(script.parent, imports=True).facts["counts"] == scan(script.parent).facts["counts"]


def _places(report: object) -> list[object]:
    return [finding.place for finding in report.findings if finding.place]  # type: ignore[attr-defined]
