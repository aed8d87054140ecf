"""torch.compile with torchair and npugraph_ex: networks train as without; what is not compiled is refused. 4 min."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_simulator.graph_engine import engine

CHILDREN = Path(__file__).parent / "children"
ALIKE = ["mlp", "batch_norm", "pooling", "group_norm", "transposed", "experts", "frozen", "bags"]
ALIKE += ["written_out", "gated", "layer_norm"]
#: Of each mode the networks that give what they give uncompiled
EQUAL = {
    "max-autotune": [*ALIKE, "lstm", "gru"],
    "reduce-overhead": [*ALIKE, "attention", "dropout"],
    "npugraph_ex": [*ALIKE, "attention", "dropout"],
    "no-reinplace": ["lstm", "gru", "sampled"],
    "dynamic": ["mlp", "group_norm", "bags", "written_out", "gated"],
}


def run(env: dict[str, str], *arguments: str) -> list[Any]:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=400, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("{", "["))]
    assert done.returncode == 0, done.stderr[-3000:]
    return told


@pytest.mark.parametrize("mode", EQUAL)
def test_networks_train_compiled_as_without(simulator_env: dict[str, str], mode: str) -> None:
    told = run(simulator_env, str(CHILDREN / "compiled.py"), mode, *EQUAL[mode])
    assert [each["name"] for each in told] == EQUAL[mode]
    for each in told:
        assert not each["error"], each
        plain, compiled = each["losses"]
        assert compiled == pytest.approx(plain, rel=1e-6) and len(set(plain)) == 3 and each["weights"] < 1e-6, each
        if mode in ("max-autotune", "dynamic"):  # a graph forward and one backward, of one shape and of all others
            assert each["engine"] >= 2 and each["replays"] == 0, each
        else:
            assert each["engine"] == 0 and each["replays"] == 6, "three steps, forward and backward, from a graph"


def test_what_torchair_lowers_to_nothing_is_refused_by_name(simulator_env: dict[str, str]) -> None:
    attention, sampled, dropout = run(
        simulator_env, str(CHILDREN / "compiled.py"), "max-autotune", "attention", "sampled", "dropout"
    )
    assert "npu::npu_fusion_attention_v3, which torchair cannot lower" in attention["error"]
    assert "torch.ops.aten.randn_like.default ge_converter is not implemented" in sampled["error"], (
        "torchair's own words"
    )
    assert not dropout["error"] and len(set(dropout["losses"][1])) == 3, "it trains, on other random numbers"


def test_the_first_graph_says_what_was_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    engine.say_what_is_not_checked.cache_clear()
    for name in ("one", "two"):
        graph = engine.TorchNpuGraphBase(name)
        graph.load(b"graph", {}, [], [], 0)
        graph.compile()
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("[simulated NPU] graphs compile here without CANN's graph engine") and "not checked" in said


REFUSED = {
    "torchair.dynamo_export(x, model=Doubled(), export_path=folder)": "dynamo_export",
    "config.aoe_config.aoe_mode = '2'; compiled()(x)": "aoe_config",
    "torch.compile(torch.ops.mine.twice, backend='npu')(x)": "CANN's operator Twice",
    "Cached()(x)": "cache_compile",
}


def test_what_the_stand_in_lacks_is_refused_by_name(simulator_env: dict[str, str], tmp_path: Path) -> None:
    code = f"""
import json, torch, torch_npu, torchair
folder, x = {str(tmp_path)!r}, torch.ones(3).npu()
library = torch.library.Library("mine", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "PrivateUse1")
library.impl("twice", torch.empty_like, "Meta")
class Doubled(torch.nn.Module):
    def forward(self, x):
        return x * 2
class Cached(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cached = torchair.inference.cache_compile(self.inner, cache_dir=folder)
    def inner(self, x):
        return x * 2
    def forward(self, x):
        return self.cached(x)
def compiled():
    return torch.compile(Doubled(), backend=torchair.get_npu_backend(compiler_config=config))
for call in {list(REFUSED)!r}:
    torch._dynamo.reset()
    config, said = torchair.CompilerConfig(), "nothing"
    try:
        exec(call)
    except Exception as error:
        said = str(error)
    print(json.dumps([call, said]))
"""
    told = dict(run(simulator_env, "-c", code))
    assert told.keys() == REFUSED.keys()
    for call, word in REFUSED.items():
        assert "[simulated NPU]" in told[call] and word in told[call], (call, told[call])


CORES = """
import json, torch, torch_npu
stream = torch.npu.Stream()
before = torch.npu.get_stream_limit(stream)
torch.npu.set_stream_limit(stream, 12, 20)
told = [before, torch.npu.get_stream_limit(stream)]
torch.npu.reset_stream_limit(stream)
told += [torch.npu.get_stream_limit(stream), torch.npu.get_device_limit(0)]
try:
    torch.npu.set_stream_limit(stream, 99, 20)
except RuntimeError as error:
    told.append(str(error))
print(json.dumps(told))
"""


def test_limits_of_cores_are_kept(simulator_env: dict[str, str]) -> None:
    ((before, limited, reset, device, refused),) = run(simulator_env, "-c", CORES)
    assert before == reset == device == {"cube_core_num": 24, "vector_core_num": 48}
    assert limited == {"cube_core_num": 12, "vector_core_num": 20}
    assert "99 cores: there are 1 to 24" in refused
