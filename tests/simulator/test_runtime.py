"""The C functions of libascendcl.so do what AscendCL's reference says, and check their arguments. 1 s.

Called through ctypes in this process, without torch: aclInit, which would register operators, is left out.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Iterator
from ctypes import byref, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_void_p

import pytest

from ascend_workbook.machine import simulator

HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3
PARAM_INVALID, INVALID_DEVICE, NO_CONTEXT, NO_MEMORY = 107000, 107001, 107002, 207001
TIME_LINE = 8
COUNT_DEVICES = """
import ctypes
count = ctypes.c_uint32()
ctypes.CDLL("libascendcl.so").aclrtGetDeviceCount(ctypes.byref(count))
print(count.value)
"""


@pytest.fixture(scope="module")
def acl(simulator_env: dict[str, str]) -> Iterator[ctypes.CDLL]:
    library = ctypes.CDLL(str(simulator.simulator_location() / "lib64" / "libascendcl.so"))
    library.aclGetRecentErrMsg.restype = c_char_p
    library.aclrtGetSocName.restype = c_char_p
    assert library.aclrtSetDevice(0) == 0
    yield library
    library.aclrtSetDevice(0)


def allocate(acl: ctypes.CDLL, size: int, *, host: bool = False) -> c_void_p:
    pointer = c_void_p()
    made = (
        acl.aclrtMallocHost(byref(pointer), c_size_t(size))
        if host
        else acl.aclrtMalloc(byref(pointer), c_size_t(size), 0)
    )
    assert made == 0
    return pointer


def copy(acl: ctypes.CDLL, to: object, room: int, start: object, size: int, kind: int) -> int:
    return int(acl.aclrtMemcpy(to, c_size_t(room), start, c_size_t(size), kind))


def test_a_copy_there_and_back(acl: ctypes.CDLL) -> None:
    device, text = allocate(acl, 64), ctypes.create_string_buffer(b"over there", 64)
    back = ctypes.create_string_buffer(64)
    assert copy(acl, device, 64, text, 64, HOST_TO_DEVICE) == 0
    assert copy(acl, back, 64, device, 64, DEVICE_TO_HOST) == 0
    assert back.value == b"over there"
    assert acl.aclrtFree(device) == 0


@pytest.mark.parametrize(
    ("room", "size", "kind", "shift"),
    [
        (32, 64, HOST_TO_DEVICE, 0),  # more than destMax
        (64, 0, HOST_TO_DEVICE, 0),  # nothing
        (128, 128, HOST_TO_DEVICE, 0),  # past the block's end
        (64, 64, HOST_TO_DEVICE, 8),  # past the block's end from its middle
        (64, 64, DEVICE_TO_DEVICE, 0),  # the source is host memory
        (64, 64, DEVICE_TO_HOST, 0),  # wrong on both sides
        (64, 64, 99, 0),  # no kind of copy
    ],
)
def test_a_wrong_copy_is_refused(acl: ctypes.CDLL, room: int, size: int, kind: int, shift: int) -> None:
    device = allocate(acl, 64)
    text = ctypes.create_string_buffer(256)
    to = c_void_p((device.value or 0) + shift)
    assert copy(acl, to, room, text, size, kind) == PARAM_INVALID
    assert b"aclrtMemcpy" in acl.aclGetRecentErrMsg()
    acl.aclrtFree(device)


def test_null_and_foreign_pointers(acl: ctypes.CDLL) -> None:
    text = ctypes.create_string_buffer(8)
    assert copy(acl, None, 8, text, 8, HOST_TO_DEVICE) == PARAM_INVALID
    assert acl.aclrtFree(text) == PARAM_INVALID
    pinned = allocate(acl, 8, host=True)
    assert acl.aclrtFree(pinned) == PARAM_INVALID, "host memory freed as device memory"
    assert acl.aclrtFreeHost(pinned) == 0
    assert acl.aclrtFreeHost(pinned) == PARAM_INVALID, "freed twice"


def test_the_message_belongs_to_the_thread_and_is_given_once(acl: ctypes.CDLL) -> None:
    acl.aclrtFree(None)
    assert b"aclrtFree" in acl.aclGetRecentErrMsg()
    assert acl.aclGetRecentErrMsg() is None


def test_devices(acl: ctypes.CDLL) -> None:
    count = c_uint32()
    assert acl.aclrtGetDeviceCount(byref(count)) == 0
    assert count.value >= 1
    assert acl.aclrtSetDevice(count.value) == INVALID_DEVICE
    assert acl.aclrtSetDevice(-1) == INVALID_DEVICE
    assert acl.aclrtGetSocName() == b"Ascend910B2"


def test_memory_is_counted(acl: ctypes.CDLL) -> None:
    free, total, less = c_size_t(), c_size_t(), c_size_t()
    acl.aclrtGetMemInfo(1, byref(free), byref(total))
    block = allocate(acl, 1 << 20)
    acl.aclrtGetMemInfo(1, byref(less), byref(total))
    assert free.value - less.value == 1 << 20
    assert acl.aclrtMalloc(byref(c_void_p()), c_size_t(less.value + 1), 0) == NO_MEMORY
    acl.aclrtFree(block)
    acl.aclrtGetMemInfo(1, byref(less), byref(total))
    assert less.value == free.value <= total.value


def test_streams_and_events(acl: ctypes.CDLL) -> None:
    stream, first, last, status, ms = c_void_p(), c_void_p(), c_void_p(), c_int32(-1), c_float(-1)
    assert acl.aclrtCreateStream(byref(stream)) == 0
    for event in (first, last):
        assert acl.aclrtCreateEventExWithFlag(byref(event), TIME_LINE) == 0
    assert acl.aclrtEventElapsedTime(byref(ms), first, last) == 107006, "neither was recorded"
    for event in (first, last):
        assert acl.aclrtRecordEvent(event, stream) == 0
    assert acl.aclrtEventElapsedTime(byref(ms), first, last) == 0
    assert ms.value >= 0
    assert acl.aclrtStreamQuery(stream, byref(status)) == 0
    assert status.value == 0
    assert acl.aclrtDestroyStream(stream) == 0
    assert acl.aclrtSynchronizeStream(stream) == PARAM_INVALID, "a destroyed stream"
    assert acl.aclrtDestroyEvent(first) == 0
    assert acl.aclrtRecordEvent(first, None) == PARAM_INVALID, "a destroyed event"


def test_a_new_thread_has_no_device(simulator_env: dict[str, str]) -> None:
    code = "import ctypes; l=ctypes.CDLL('libascendcl.so'); print(l.aclrtGetDevice(ctypes.byref(ctypes.c_int32())))"
    assert ask(code, simulator_env) == str(NO_CONTEXT)


@pytest.mark.parametrize(
    ("told", "visible", "expected"),
    [("3", None, "3"), ("4", "2,0", "2"), ("4", "1,9,0", "1"), ("2", "0,0", "1"), (None, None, "2"), ("4", "", "0")],
)
def test_how_many_devices(simulator_env: dict[str, str], told: str | None, visible: str | None, expected: str) -> None:
    """ASCEND_RT_VISIBLE_DEVICES counts up to the first entry that is no device, as with CANN."""
    told_env = {"ASCEND_WORKBOOK_SIM_DEVICES": told, "ASCEND_RT_VISIBLE_DEVICES": visible}
    env = {**simulator_env, **{name: value for name, value in told_env.items() if value is not None}}
    assert ask(COUNT_DEVICES, env) == expected


def test_a_bad_number_of_devices_is_said(simulator_env: dict[str, str]) -> None:
    env = {**simulator_env, "ASCEND_WORKBOOK_SIM_DEVICES": "many"}
    done = subprocess.run([sys.executable, "-c", COUNT_DEVICES], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "ASCEND_WORKBOOK_SIM_DEVICES=many" in done.stderr


def ask(code: str, env: dict[str, str]) -> str:
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


#: torch_npu's NPUCachingAllocator.cpp, with the device memory that the runtime told it.
OUT_OF_MEMORY = (
    r"NPU out of memory\. Tried to allocate 202\.00 MiB \(NPU 0; 100\.00 MiB total capacity; "
    r"\d+ bytes already allocated; \d+ bytes current active; 98\.00 MiB free; "
    r"2\.00 MiB reserved in total by PyTorch\)\.If reserved memory is >> allocated memory try setting "
    r"max_split_size_mb to avoid fragmentation\."
)


def test_out_of_memory_is_torch_npus_own_error(simulator_env: dict[str, str]) -> None:
    code = (
        "import torch\n"
        "kept = torch.ones(3, device='npu')\n"
        "try: torch.empty(200 << 20, dtype=torch.uint8, device='npu')\n"
        "except torch.OutOfMemoryError as error: print(error)\n"
        "print(torch.npu.mem_get_info()[1] >> 20)\n"
        "print(torch.empty(90 << 20, dtype=torch.uint8, device='npu').numel() >> 20)\n"
        "print(torch.npu.get_device_name(), kept.sum().item(), kept.double().dtype)"
    )
    env = {**simulator_env, "ASCEND_WORKBOOK_SIM_MEMORY_MIB": "100", "ASCEND_WORKBOOK_SIM_SOC": "Ascend910B4"}
    said, memory, fits, after = ask(code, env).splitlines()
    assert re.fullmatch(OUT_OF_MEMORY, said), said
    assert (memory, fits) == ("100", "90"), "the device goes on"
    assert after == "Ascend910B4 3.0 torch.float32", "torch_npu makes a float of a double"
