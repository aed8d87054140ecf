"""Random numbers of the host: the same on the CPU, the CPU standing in for CUDA and the simulated NPU. About 25 s."""

from __future__ import annotations

import importlib.util
import math
import re
import statistics
from pathlib import Path
from types import ModuleType

import pytest

from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.machine import device, simulator
from ascend_workbook.machine.device import Device
from ascend_workbook.machine.launch import LaunchResult, LaunchSpec
from tests.machine.launch.running import SCRIPTS, output, run

CHILD = Path(device.__file__).parent / "launch" / "child"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, CHILD / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


normal = _load("normal")
#: Of the key 1.
FIRST = ["-0x1.0740bdbfeba2ap-1", "0x1.07e9ca910c318p+0", "-0x1.02ae3eccf376ep+0", "-0x1.dd61edf146acbp+0"]


def _drawn(result: LaunchResult) -> dict[str, str]:
    assert result.ok, (result.trouble, output(result))
    lines = [line.split() for line in output(result).splitlines() if line.startswith(("DRAW", "STATE"))]
    return {" ".join(line[:-1]): line[-1] for line in lines}


@pytest.fixture(scope="module")
def on_the_cpu(tmp_path_factory: pytest.TempPathFactory) -> LaunchResult:
    return run(tmp_path_factory.mktemp("cpu"), "draws.py", draws="host")


def test_the_cpu_in_cudas_place_draws_the_hosts_numbers(tmp_path: Path, on_the_cpu: LaunchResult) -> None:
    """From one stream: neither the numbers nor the state behind them are those of two."""
    result = run(tmp_path, "draws.py", draws="host", transform="baseline_cpu")
    assert len(_drawn(on_the_cpu)) >= 40
    assert _drawn(result) == _drawn(on_the_cpu)
    assert result.losses == on_the_cpu.losses and len(result.losses) == 3
    assert [step.grad_norm for step in result.steps] == [step.grad_norm for step in on_the_cpu.steps]
    noted = {note["code"] for note in result.logs[0].notes}
    assert "host_draws" in noted and "attention_in_parts" in noted and "own_stream" not in noted


def test_an_npu_draws_the_hosts_numbers(
    tmp_path: Path, on_the_cpu: LaunchResult, simulator_env: dict[str, str]
) -> None:
    assert simulator.is_built()
    where = Device("npu-simulated", "simulated", 1, {})
    spec = LaunchSpec(out=tmp_path, script=SCRIPTS / "draws.py", env=simulator_env).on(where)
    options = {"env": spec.env, "transform": spec.transform, "tier": spec.tier, "simulated": True}
    result = run(tmp_path, "draws.py", draws="host", **options)
    assert result.parameter_devices == ["npu:0"]
    assert _drawn(result) == _drawn(on_the_cpu)
    assert result.losses == pytest.approx(on_the_cpu.losses, rel=1e-6)


def test_without_the_option_they_differ(tmp_path: Path, on_the_cpu: LaunchResult) -> None:
    plain = _drawn(run(tmp_path, "draws.py"))
    assert plain.keys() == _drawn(on_the_cpu).keys()
    same = {name for name in plain if plain[name] == _drawn(on_the_cpu)[name]}
    assert same == {"DRAW dropout_evaluated"}


def test_dropout_is_removed(tmp_path: Path) -> None:
    """Of layers, attention and recurrent networks: the same losses as of the script with 0 in their place."""
    lines = (SCRIPTS / "draws.py").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if '"dropout' not in line and '"alpha_dropout' not in line)
    scripts = {"with": text, "without": re.sub(r"(dropout=|Dropout\()0\.\d", r"\g<1>0.0", text)}
    assert scripts["with"] != scripts["without"]
    for name, content in scripts.items():
        (tmp_path / f"{name}.py").write_text(content, encoding="utf-8")
    left = run(tmp_path / "left", tmp_path / "with.py", rm_dropout=True, transform="baseline_cpu")
    right = run(tmp_path / "right", tmp_path / "without.py", transform="baseline_cpu")
    dropped = run(tmp_path / "dropped", tmp_path / "with.py", transform="baseline_cpu")
    assert left.losses == right.losses != dropped.losses
    assert {note["code"] for note in left.logs[0].notes} >= {"dropout_removed"}


def test_an_unknown_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkbookError) as caught:
        run(tmp_path, "draws.py", draws="moon")
    assert caught.value.key == "launch.draws_unknown"


def test_normal_numbers_are_the_distributions() -> None:
    numpy = pytest.importorskip("numpy")
    words = numpy.random.Philox(key=7).random_raw(200_000)
    numbers = normal.from_words(words)
    assert abs(numbers.mean()) < 0.01 and abs(numbers.std() - 1) < 0.01 and numpy.isfinite(numbers).all()
    exact = statistics.NormalDist()
    for word, number in zip(words[:300], numbers[:300]):
        assert number == pytest.approx(exact.inv_cdf((int(word >> 12) + 0.5) / 2**52), rel=1e-12)
    ends = numpy.array([0, 2**64 - 1], dtype=numpy.uint64)
    assert normal.from_words(ends).tolist() == pytest.approx([-8.209536, 8.209536], rel=1e-5)


def test_logarithms_are_right_to_the_last_bits() -> None:
    numpy = pytest.importorskip("numpy")
    values = numpy.array([2.0**-53, 1e-300, 0.1, 0.5, 0.7071067811865476, 1.0, 3.0, 1e300])
    for value, logarithm in zip(values, normal.logarithm(values)):
        assert logarithm == pytest.approx(math.log(value), rel=4e-16, abs=1e-17)
    waits = normal.exponential_from_words(numpy.random.Philox(key=1).random_raw(200_000))
    assert waits.min() > 0 and waits.mean() == pytest.approx(1.0, abs=0.01)


def test_the_numbers_of_a_seed_never_change() -> None:
    """The first of them, to the last bit, on whatever machine."""
    numpy = pytest.importorskip("numpy")
    numbers = normal.from_words(numpy.random.Philox(key=1).random_raw(4))
    assert [float(number).hex() for number in numbers] == FIRST
