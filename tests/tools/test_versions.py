"""`make test-versions`: a CPU build out of a CUDA wheel, which pairs are tried, and what the table says of them."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from tools.versions import __main__ as versions
from tools.versions import cpu_torch, steps
from tools.versions.pairs import Pair, choose_pairs, load_pairs
from tools.versions.steps import Outcome, Place

PAIR = Pair("2.12.0", "2.12.0")


def test_pairs_are_chosen_by_torchs_release() -> None:
    assert choose_pairs("") == list(load_pairs().values())
    assert choose_pairs("2.12.0") == [PAIR]
    with pytest.raises(ValueError, match=r"1\.0\.0: ascend_simulator/pairs.json has 2\.13\.0"):
        choose_pairs("2.12.0,1.0.0")


def test_the_table_has_a_row_per_pair_and_the_cause_of_each_failure() -> None:
    tried = [Outcome("build", True, "built", 1.0), Outcome("basics", False, "15 of 16; indexing: IndexError", 2.0)]
    table = versions.render_table({PAIR: tried}, ["build", "basics"]).splitlines()
    assert "| 2.12.0 | 2.12.0 | passed | **failed** |" in table
    assert table[-1] == "2.12.0 basics: 15 of 16; indexing: IndexError"


def test_an_unknown_step_or_pair_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "make_environment", lambda *_: pytest.fail("nothing is to be made"))
    for arguments in (["--steps", "basics,nothing"], ["--versions", "1.0.0"]):
        with pytest.raises(SystemExit) as raised:
            versions.main([*arguments, "--cache", str(tmp_path)])
        assert raised.value.code == 2


def answer(code: int, out: str = "", error: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], code, out, error)


@pytest.mark.parametrize(
    ("done", "passed", "says"),
    [
        (answer(0, "passed one\npassed two\n"), True, "2 of 2"),
        (answer(1, "passed one\nfailed two IndexError: x (a.py:3)\n"), False, "1 of 2; two: IndexError: x (a.py:3)"),
        (answer(1, "", "ImportError: no module\n"), False, "ImportError: no module"),
        (answer(0, ""), False, "exit code 0"),
        (answer(1, "passed one\n"), False, "1 of 1"),
    ],
)
def test_basics_pass_only_where_every_check_said_so(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    done: subprocess.CompletedProcess[str],
    passed: bool,
    says: str,
) -> None:
    monkeypatch.setattr(steps, "on_simulator", lambda *_: done)
    assert steps.try_basics(Place(PAIR, tmp_path, tmp_path)) == (passed, says)


def test_ddp_passes_only_where_both_ranks_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for out, passed in (("rank 0 of 2 good: x\nrank 1 of 2 good: x\n", True), ("rank 0 of 2 good: x\n", False)):
        monkeypatch.setattr(steps, "on_simulator", lambda *_, out=out: answer(0, out))
        assert steps.try_parallel(Place(PAIR, tmp_path, tmp_path))[0] is passed


def test_what_is_left_of_a_cuda_wheel_is_a_cpu_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "torch/version.py": "__version__ = '2.12.0'\ncuda: Optional[str] = '12.8'\n",
        "torch/cuda/__init__.py": 'def _is_compiled():\n    return hasattr(torch._C, "_cuda_getDeviceCount")\n',
        "torch/backends/cuda/__init__.py": "def is_built():\n    return torch._C._has_cuda\n",
        "torch/lib/libtorch_cuda.so": "large",
        "torch/lib/libtorch_cpu.so": "kept",
        "torch/lib/libcudart-1.so.12": "large",
        "torch/test/t.py": "",
        "torch-2.12.0.dist-info/METADATA": "Name: torch\nVersion: 2.12.0\nRequires-Dist: sympy\n"
        "Requires-Dist: nvidia-cublas==1; platform_system == 'Linux'\nRequires-Dist: triton==3.6\n",
    }
    with zipfile.ZipFile(tmp_path / "torch.whl", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    monkeypatch.setattr(cpu_torch, "write_stand_ins", lambda torch: None)
    cpu_torch.unpack_as_cpu_build(tmp_path / "torch.whl", tmp_path / "site")
    site = tmp_path / "site"
    assert sorted(path.name for path in site.rglob("*.so*")) == ["libtorch_cpu.so"]
    assert (site / "torch/version.py").read_text() == "__version__ = '2.12.0+cpu'\ncuda: Optional[str] = None\n"
    assert "return False" in (site / "torch/cuda/__init__.py").read_text()
    assert "return False" in (site / "torch/backends/cuda/__init__.py").read_text()
    record = (site / "torch-2.12.0+cpu.dist-info/METADATA").read_text()
    assert record == "Name: torch\nVersion: 2.12.0+cpu\nRequires-Dist: sympy\n"


def test_a_stand_in_answers_0_and_is_a_library_of_c(tmp_path: Path) -> None:
    source = tmp_path / "x.c"
    names = [
        "cudaGetDeviceCount",
        "_ZTIN4c10d7OptionsE",
        "_ZTVN4c10d7OptionsE",
        "_ZN4c10d7OptionsC1Ev",
        "_ZN4c10d3gilEv",
    ]
    source.write_text(cpu_torch.stand_ins(names))
    library = tmp_path / "libx.so"
    command = ["gcc", "-shared", "-fPIC", "-w", "-o", str(library), str(source), "-lstdc++"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert set(names) <= set(cpu_torch.symbols_of(library, "--defined-only"))
