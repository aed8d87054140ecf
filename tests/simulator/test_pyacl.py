"""CANN's Python module acl over the simulated runtime: as its reference says, and beside torch_npu. 30 s."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ALONE = """
import json, acl, numpy as np
told = {"init": acl.init(), "again": acl.init(), "name": acl.get_soc_name()}
told["devices"] = acl.rt.get_device_count()
_, told["before"] = acl.rt.create_stream()
told["message"] = acl.get_recent_err_msg()
told["set"], told["device"] = acl.rt.set_device(1), None
told["device"] = acl.rt.get_device()
stream, told["stream"] = acl.rt.create_stream()
begin, _ = acl.rt.create_event()
end, _ = acl.rt.create_event_with_flag(8)
told["recorded"] = [acl.rt.record_event(begin, stream)]
values = np.arange(6, dtype=np.float32).reshape(2, 3)
free, total, _ = acl.rt.get_mem_info(1)
device, told["malloc"] = acl.rt.malloc(values.nbytes, 0)
left = acl.rt.get_mem_info(1)[0]
told["taken"] = free - left >= values.nbytes and total >= free > left > 0
told["there"] = acl.rt.memcpy(device, values.nbytes, acl.util.numpy_to_ptr(values), values.nbytes, 1)
told["second row zero"] = acl.rt.memset(device + 12, 12, 0, 12)
host, told["host"] = acl.rt.malloc_host(values.nbytes)
told["back"] = acl.rt.memcpy_async(host, values.nbytes, device, values.nbytes, 2, stream)
told["recorded"].append(acl.rt.record_event(end, stream))
told["synchronized"] = [acl.rt.synchronize_stream(stream), acl.rt.synchronize_event(end), acl.rt.synchronize_device()]
told["values"] = np.frombuffer(acl.util.ptr_to_bytes(host, values.nbytes), np.float32).tolist()
told["array"] = acl.util.ptr_to_numpy(host, (2, 3), 11).tolist()
told["elapsed"] = acl.rt.event_elapsed_time(begin, end)
told["status"] = acl.rt.query_event_status(end)
told["too far"] = acl.rt.memcpy(device, 4, host, 24, 1)
told["far message"] = acl.get_recent_err_msg()
told["refused"] = []
for call in (
    lambda: acl.util.ptr_to_bytes(device, 4), lambda: acl.mdl.load_from_file_with_mem("a.om"),
    lambda: acl.rt.launch_callback(0),
    lambda: acl.util.vector_to_ptr([]), lambda: acl.rt.malloc(4),
    lambda: acl.rt.set_device(2**32), lambda: acl.rt.malloc(-1, 0),
):
    try:
        told["refused"].append(call())
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        told["refused"].append(str(error))
told["freed"] = [acl.rt.free(device), acl.rt.free(device), acl.rt.free_host(host), acl.rt.destroy_event(begin)]
told["ended"] = [acl.rt.destroy_stream(stream), acl.rt.reset_device(1), acl.finalize()]
print(json.dumps(told))
"""

BESIDE = """
import json, torch, torch_npu, acl
x = torch.arange(4.0).npu()
x += 1
torch.npu.synchronize()
host, _ = acl.rt.malloc_host(16)
code = acl.rt.memcpy(host, 16, x.data_ptr(), 16, 2)
print(json.dumps([code, acl.util.ptr_to_numpy(host, (4,), 11).tolist(), acl.rt.get_device(), acl.init()]))
"""

FILES = """
import json, os, sys, acl
told = {}
for name in sorted(os.listdir(".")) + ["absent.json"]:
    code, said, (device, none) = acl.init(name), acl.get_recent_err_msg(), acl.rt.get_device()
    told[name] = [code, None if none else device, said]
    if told[name][0] == 0:
        acl.finalize()
told["after the end"] = acl.rt.get_device()[1]
print(json.dumps(told))
"""

UNASKED = """
import ctypes, json, acl, torch_npu
print(json.dumps([acl.init(), acl.rt.get_device()[1], acl.finalize(), acl.init("")]))
"""

LIMITS = """
import json, acl
told = [acl.init(), acl.rt.set_device(1)]
for turn in range(50):
    stream, _ = acl.rt.create_stream()
    told.append(acl.rt.get_stream_res_limit(stream, 0)[0])
    acl.rt.set_stream_res_limit(stream, 0, 3)
    assert acl.rt.get_stream_res_limit(stream, 0) == (3, 0)
    acl.rt.destroy_stream(stream)
acl.rt.set_stream_res_limit(0, 0, 5)
told.append([acl.rt.get_stream_res_limit(0, 0)[0], acl.rt.set_device(0), acl.rt.get_stream_res_limit(0, 0)[0]])
print(json.dumps(told))
"""


def run(env: dict[str, str], code: str) -> Any:
    return run_in(None, env, code)[0]


def run_in(folder: Path | None, env: dict[str, str], code: str) -> tuple[Any, str]:
    """Run it in a folder; return what it told, and what stderr says."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_devices_streams_events_and_memory(simulator_env: dict[str, str]) -> None:
    told = run({**simulator_env, "ASCEND_WORKBOOK_SIM_DEVICES": "3"}, ALONE)
    successes = ("init", "set", "stream", "malloc", "there", "second row zero", "host", "back")
    assert {name: told[name] for name in successes} == dict.fromkeys(successes, 0)
    assert told["recorded"] == [0, 0] and told["synchronized"] == [0, 0, 0] and told["ended"] == [0, 0, 0]
    assert told["again"] == 100002, "ACL_ERROR_REPEAT_INITIALIZE"
    assert told["name"].startswith("Ascend910B") and told["devices"] == [3, 0] and told["device"] == [1, 0]
    assert told["before"] == 107002 and "aclrtCreateStream: this thread has set no device" in told["message"]
    assert told["taken"] and told["values"] == [0, 1, 2, 0, 0, 0] and told["array"] == [[0, 1, 2], [0, 0, 0]]
    assert told["elapsed"][0] > 0 and told["elapsed"][1] == 0 and told["status"] == [1, 0]
    assert told["too far"] != 0 and "[simulated NPU] aclrtMemcpy:" in told["far message"]
    device, model, callback, vector, short, large, negative = told["refused"]
    assert "memory of device 1: copy it with acl.rt.memcpy" in device
    for said, name in (
        (model, "acl.mdl.load_from_file_with_mem"),
        (callback, "acl.rt.launch_callback"),
        (vector, "acl.util.vector_to_ptr"),
    ):
        assert said == f"[simulated NPU] the stand-in for CANN's module acl lacks {name}"
    assert short == "acl.rt.malloc() takes 2 arguments, 1 were given"
    assert large == "acl.rt.set_device(): 4294967296 does not fit into a signed number of 32 bits"
    assert negative == "acl.rt.malloc(): -1 does not fit into an unsigned number of 64 bits"
    assert told["freed"][0] == 0 and told["freed"][1] != 0 and told["freed"][2:] == [0, 0]


def test_it_is_the_runtime_of_torch_npu(simulator_env: dict[str, str]) -> None:
    assert run(simulator_env, BESIDE) == [0, [1, 2, 3, 4], [0, 0], 100002]


#: Files of aclInit, what each gives, the device of a thread that sets none after it, and what is said
CONFIGURATIONS: dict[str, tuple[str, int, int | None, str]] = {
    "default.json": ('{"defaultDevice": {"default_device": "1"}}', 0, 1, ""),
    "inner.json": ('{"other": {"defaultDevice": {"default_device": "1"}}}', 0, None, "no effect here: other"),
    "far.json": ('{"defaultDevice": {"default_device": "7"}}', 0, None, "far.json: defaultDevice names no device"),
    "quiet.json": ('{"dump": {"dump_scene": "lite_exception"}}', 0, None, ""),
    "idle.json": ('{"dump": {"dump_list": []}, "profiler": {"a": [1e-3, true, null]}}', 0, None, ": dump, profiler"),
    "escaped.json": (r'{"a\n\u00e9": "\\"}', 0, None, r"here: a\n\u00e9"),
    "empty.json": ("", 100006, None, "line 1: this is no object"),
    "broken.json": ('{"defaultDevice":\n {"default_device": "1"}', 100006, None, "json, line 2: this is no object"),
    "list.json": ("[]", 100006, None, "list.json, line 1"),
    "comma.json": ('{"a": 1,}', 100006, None, "comma.json, line 1"),
    "trailing.json": ("{} {}", 100006, None, "trailing.json, line 1"),
    "deep.json": ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", 100006, None, "deep.json, line 1"),
}


def test_the_file_of_init_is_read_or_refused(simulator_env: dict[str, str], tmp_path: Path) -> None:
    for name, (text, *_) in CONFIGURATIONS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "folder").mkdir()
    told, stderr = run_in(tmp_path, simulator_env, FILES)
    for name, (_, code, device, said) in CONFIGURATIONS.items():
        assert told[name][:2] == [code, device], name
        assert said in (told[name][2] if code else stderr), name
    assert "quiet.json" not in stderr and "default.json" not in stderr
    for name in ("folder", "absent.json"):
        assert told[name][:2] == [100003, None] and f"{name} cannot be read as a file" in told[name][2]
    assert told["after the end"] == 107002, "a default device ends with the runtime"


def test_torch_npu_alone_gets_its_default_device(simulator_env: dict[str, str]) -> None:
    assert run(simulator_env, UNASKED) == [0, 107002, 0, 0]
    torch_npu = "import json, threading, torch, torch_npu, acl\ntorch.ones(1).npu()\ntold = []\n"
    torch_npu += "thread = threading.Thread(target=lambda: told.extend(acl.rt.get_device()))\n"
    assert run(simulator_env, torch_npu + "thread.start(); thread.join(); print(json.dumps(told))") == [0, 0]


def test_limits_of_cores_end_with_their_stream_and_are_of_its_device(simulator_env: dict[str, str]) -> None:
    assert run({**simulator_env, "ASCEND_WORKBOOK_SIM_DEVICES": "2"}, LIMITS) == [0, 0, *[24] * 50, [5, 0, 24]]
