"""acl.mdl as a client uses it: loading, gears, running, and the codes of wrong calls. 15 s."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_simulator.offline_models import command
from tests.simulator.offline_models.networks import make_convolution

onnxruntime = pytest.importorskip("onnxruntime")

#: A client in the manner of the public samples: each input copied to the device, each output back.
CLIENT = """
import json, sys, acl, numpy as np
told = {"before": [acl.mdl.load_from_file("net.om")[1], acl.mdl.create_desc(), acl.mdl.unload(1)]}
told["start"] = [acl.init()]
told["no device"] = [acl.mdl.load_from_file("net.om")[1], acl.get_recent_err_msg()]
told["start"] += acl.rt.create_context(0)[1:]
model, told["loaded"] = acl.mdl.load_from_file("net.om")
desc = acl.mdl.create_desc()
told["empty"] = acl.mdl.get_num_inputs(desc)
told["described"] = acl.mdl.get_desc(desc, model)
told["ports"] = [acl.mdl.get_num_inputs(desc), acl.mdl.get_num_outputs(desc), acl.mdl.get_input_dims(desc, 0)]
told["ports"] += [acl.mdl.get_input_data_type(desc, 0), acl.mdl.get_input_format(desc, 0)]
told["batches"] = acl.mdl.get_dynamic_batch(desc)
gear, _ = acl.mdl.get_input_index_by_name(desc, "ascend_mbatch_shape_data")
told["gear"] = [gear, acl.mdl.get_input_index_by_name(desc, "z")[1]]

def make_dataset(kind, count):
    dataset = acl.mdl.create_dataset()
    for index in range(count):
        size = getattr(acl.mdl, f"get_{kind}_size_by_index")(desc, index)
        address, _ = acl.rt.malloc(size, 0)
        acl.mdl.add_dataset_buffer(dataset, acl.create_data_buffer(address, size))
    return dataset

given, wanted = make_dataset("input", 2), make_dataset("output", 1)
first = acl.mdl.get_dataset_buffer(given, 0)
place, size = acl.get_data_buffer_addr(first), acl.get_data_buffer_size(first)
told["size"] = size
told["no gear"] = [acl.mdl.execute(model, given, wanted), acl.get_recent_err_msg()]
told["wrong"] = [acl.mdl.set_dynamic_batch_size(model, given, *pair) for pair in ((gear, 3), (0, 2))]
told["results"], told["dims"] = {}, {}
for batch in (2, 4):
    x = np.load(f"x{batch}.npy")
    acl.rt.memcpy(place, size, acl.util.bytes_to_ptr(x.tobytes()), x.nbytes, 1)
    ended = [acl.mdl.set_dynamic_batch_size(model, given, gear, batch)]
    stream, _ = acl.rt.create_stream()
    run, more = (acl.mdl.execute_async, [stream]) if batch == 2 else (acl.mdl.execute, [])
    ended.append(run(model, given, wanted, *more))
    out = acl.mdl.get_dataset_buffer(wanted, 0)
    host, _ = acl.rt.malloc_host(batch * 40)
    ended.append(acl.rt.memcpy(host, batch * 40, acl.get_data_buffer_addr(out), batch * 40, 2))
    told["results"][batch] = acl.util.ptr_to_numpy(host, (batch, 10), 11).tolist()
    told["dims"][batch] = acl.mdl.get_cur_output_dims(desc, 0)[0]["dims"]
    assert ended == [0, 0, 0], (ended, acl.get_recent_err_msg())
told["codes"] = {
    "no model": acl.mdl.execute(99, given, wanted), "inputs": acl.mdl.execute(model, wanted, wanted),
    "outputs": acl.mdl.execute(model, given, given), "dataset": acl.mdl.execute(model, 7, wanted),
    "file": acl.mdl.load_from_file("absent.om")[1], "real": acl.mdl.load_from_file("real.om")[1],
    "static": acl.mdl.set_dynamic_batch_size(acl.mdl.load_from_file("static.om")[0], given, gear, 2),
}
acl.update_data_buffer(first, acl.util.numpy_to_ptr(x), x.nbytes)
told["codes"]["host"] = acl.mdl.execute(model, given, wanted)
told["host"] = acl.get_recent_err_msg()
acl.update_data_buffer(first, place, 8)
told["codes"]["small"] = acl.mdl.execute(model, given, wanted)
short, _ = acl.rt.malloc(8, 0)
acl.update_data_buffer(first, short, size)
told["codes"]["short input"] = acl.mdl.execute(model, given, wanted)
acl.update_data_buffer(first, place, size)
room = acl.get_data_buffer_addr(out), acl.get_data_buffer_size(out)
acl.update_data_buffer(out, short, room[1])
told["codes"]["short output"] = acl.mdl.execute(model, given, wanted)
told["short"] = acl.get_recent_err_msg()
acl.update_data_buffer(out, *room)
acl.rt.reset_device(0)
told["codes"]["reset"] = acl.mdl.execute(model, given, wanted)
acl.rt.set_device(0)
told["codes"]["set again"] = acl.mdl.execute(model, given, wanted)
told["memory"] = acl.mdl.load_from_mem(acl.util.bytes_to_ptr(data := open("static.om", "rb").read()), len(data))[1]
told["query"] = acl.mdl.query_size("net.om")
told["ended"] = [acl.mdl.unload(model), acl.mdl.unload(model), acl.mdl.destroy_desc(desc), acl.mdl.destroy_desc(desc)]
told["ended"] += [acl.mdl.destroy_dataset(given), acl.destroy_data_buffer(first)]
told["ended"] += [acl.finalize(), acl.mdl.create_dataset()]
print(json.dumps(told))
"""


def test_a_client_loads_and_runs_models(simulator_env: dict[str, str], tmp_path: Path) -> None:
    told, network = run_client(simulator_env, tmp_path)
    assert told["before"] == [100001, 0, 100001], "before acl.init nothing works, and the code says so"
    assert told["start"] == [0, 0] and told["loaded"] == 0 and told["described"] == 0 and told["empty"] == 0
    dims = [{"name": "x", "dimCount": 4, "dims": [-1, 1, 8, 8]}, 0]
    assert told["ports"] == [2, 1, dims, 0, 0] and told["batches"] == [{"batchCount": 2, "batch": [2, 4]}, 0]
    assert told["gear"] == [1, 100000] and told["size"] == 4 * 64 * 4
    assert told["no gear"][0] == 100000 and "acl.mdl.execute: no gear was set" in told["no gear"][1]
    assert told["wrong"] == [100000, 100000]
    session = onnxruntime.InferenceSession(str(network), providers=["CPUExecutionProvider"])
    for batch in (2, 4):
        (exact,) = session.run(None, {"x": np.load(tmp_path / f"x{batch}.npy")})
        assert np.abs(np.array(told["results"][str(batch)]) - exact).max() < 1e-6
        assert told["dims"][str(batch)] == [batch, 10]
    assert told["codes"] == {
        "no model": 100011,
        "inputs": 100017,
        "outputs": 100018,
        "dataset": 100000,
        "file": 100003,
        "real": 100012,
        "static": 100019,
        "host": 100017,
        "small": 100017,
        "short input": 100017,
        "short output": 100018,
        "reset": 107002,
        "set again": 0,
    }
    assert told["no device"][0] == 107002 and "this thread has set no device" in told["no device"][1]
    assert "output y: 160 bytes cannot be copied: the buffer's memory is smaller" in told["short"]
    assert "is no memory of a device: acl.rt.malloc, then acl.rt.memcpy" in told["host"]
    assert told["memory"] == 0 and told["query"][2] == 0 and told["query"][0] == 4 * 64 * 4 + 4 + 4 * 40
    assert told["ended"] == [0, 100011, 0, 100000, 0, 0, 0, 0], "after the end a data set is none"


def run_client(env: dict[str, str], folder: Path) -> tuple[dict[str, Any], Path]:
    """Convert a network with gears and without, run the client beside them; return what it told."""
    network = make_convolution(folder / "net.onnx")
    base = [f"--model={network}", "--framework=5", "--soc_version=Ascend910B3", "--precision_mode_v2=origin"]
    gears = ["--input_shape=x:-1,1,8,8", "--dynamic_batch_size=2,4"]
    assert command.main([*base, *gears, f"--output={folder / 'net'}"]) == 0
    assert command.main([*base, "--input_shape=x:1,1,8,8", f"--output={folder / 'static'}"]) == 0
    (folder / "real.om").write_bytes(b"IMOD" + bytes(500))
    for batch in (2, 4):
        np.save(folder / f"x{batch}.npy", np.random.default_rng(batch).standard_normal((batch, 1, 8, 8)).astype("f4"))
    done = subprocess.run(
        [sys.executable, "-c", CLIENT], env=env, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told, network


def test_the_command_is_in_the_simulators_bin(simulator_env: dict[str, str], tmp_path: Path) -> None:
    network = make_convolution(tmp_path / "net.onnx")
    line = f"atc --model={network} --framework=5 --soc_version=Ascend910B3 --input_shape=x:1,1,8,8 --output=net"
    env = {
        **simulator_env,
        "PATH": f"{simulator_env['ASCEND_HOME_PATH']}/bin:{Path(sys.executable).parent}:/usr/bin:/bin",
    }
    done = subprocess.run(line.split(), env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0 and "[simulated NPU] ATC run success: net.om" in done.stdout, done.stderr
    assert (tmp_path / "net.om").read_bytes().startswith(b"\0SIMULATED-OM")
