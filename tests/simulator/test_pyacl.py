"""CANN's Python module acl over the simulated runtime: as its reference says, and beside torch_npu. 30 s."""

from __future__ import annotations

import json
import subprocess
import sys
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
    lambda: acl.util.ptr_to_bytes(device, 4), lambda: acl.mdl.load_from_file("a.om"), lambda: acl.rt.create_context(0),
    lambda: acl.util.vector_to_ptr([]), lambda: acl.rt.malloc(4),
):
    try:
        told["refused"].append(call())
    except (AttributeError, TypeError, ValueError) as error:
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


def run(env: dict[str, str], code: str) -> Any:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


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
    device, model, context, vector, short = told["refused"]
    assert "memory of device 1: copy it with acl.rt.memcpy" in device
    for said, name in ((model, "acl.mdl"), (context, "acl.rt.create_context"), (vector, "acl.util.vector_to_ptr")):
        assert said == f"[simulated NPU] the stand-in for CANN's module acl lacks {name}"
    assert short == "acl.rt.malloc() takes 2 arguments, 1 were given"
    assert told["freed"][0] == 0 and told["freed"][1] != 0 and told["freed"][2:] == [0, 0]


def test_it_is_the_runtime_of_torch_npu(simulator_env: dict[str, str]) -> None:
    assert run(simulator_env, BESIDE) == [0, [1, 2, 3, 4], [0, 0], 100002]
