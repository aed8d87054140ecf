"""A program of MSPTI's own, without torch_npu's profiler: prints its records, a JSON object a line."""

import ctypes
import json
import os

import torch
import torch_npu  # noqa: F401

U32, U64, TEXT = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p
KERNEL, API, MEMCPY, CORRELATION, NODE = 2, 3, 7, 8, 11
ABSENT = {"marker": 1, "memory": 5, "memset": 6, "runtime": 12}
CUSTOM, OTHER = 2, 3
DONE, INVALID, SEVERAL, LAST, EMPTY = 0, 1, 2, 3, 5


def layout(*fields):
    return type("Record", (ctypes.Structure,), {"_pack_": 1, "_fields_": [("kind", U32), *fields]})


TIMES, PLACE = [("start", U64), ("end", U64)], [("device", U32), ("stream", U32)]
FORMS = {
    KERNEL: layout(*TIMES, *PLACE, ("number", U64), ("type", TEXT), ("name", TEXT)),
    API: (call := layout(*TIMES, ("process", U32), ("thread", U32), ("number", U64), ("name", TEXT))),
    NODE: call,
    MEMCPY: layout(("way", U32), ("bytes", U64), *TIMES, *PLACE, ("number", U64)),
    CORRELATION: layout(("external_kind", U32), ("external", U64), ("number", U64)),
}
library = ctypes.CDLL(os.environ["ASCEND_HOME_PATH"] + "/lib64/libmspti.so")
read_next, SIZE, buffers = library.msptiActivityGetNextRecord, 4096, []


@ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)
)
def request(buffer, size, most):
    buffers.append(ctypes.create_string_buffer(SIZE))
    buffer[0], size[0], most[0] = ctypes.addressof(buffers[-1]), SIZE, 0


@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
def complete(buffer, size, valid):
    record, length = ctypes.c_void_p(), ctypes.c_size_t(valid)
    while (code := read_next(ctypes.c_void_p(buffer), length, ctypes.byref(record))) == DONE:
        read = FORMS[U32.from_address(record.value).value].from_address(record.value)
        values = {name: getattr(read, name) for name, *_ in read._fields_}
        print(json.dumps({name: v.decode() if isinstance(v, bytes) else v for name, v in values.items()}))
    assert code == LAST


first, second = ctypes.c_void_p(), ctypes.c_void_p()
codes = {
    "subscribed": library.msptiSubscribe(ctypes.byref(first), None, None),
    "again": library.msptiSubscribe(ctypes.byref(second), None, None),
    "no callback": library.msptiActivityRegisterCallbacks(None, complete),
    "registered": library.msptiActivityRegisterCallbacks(request, complete),
    **{name: library.msptiActivityEnable(kind) for name, kind in ABSENT.items()},
    "enabled": max(library.msptiActivityEnable(kind) for kind in FORMS),
}
x = torch.ones(4, 8).npu()
library.msptiActivityPushExternalCorrelationId(CUSTOM, U64(41))
library.msptiActivityPushExternalCorrelationId(CUSTOM, U64(42))
y = x * 2
last = U64()
codes["popped"] = library.msptiActivityPopExternalCorrelationId(CUSTOM, ctypes.byref(last))
codes["last"] = last.value
y.relu()
codes["empty"] = library.msptiActivityPopExternalCorrelationId(OTHER, None)
y.cpu()
for _ in range(200):
    y.relu_()
library.msptiActivityFlushAll(1)
SIZE = 48  # holds a call, and no kernel
print(json.dumps({"small": True}))
y.sin()
library.msptiActivityFlushAll(1)
SIZE = 4096
codes["periods"] = [library.msptiActivityFlushPeriod(milliseconds) for milliseconds in (0, 1000, 0)]
codes["disabled"] = max(library.msptiActivityDisable(kind) for kind in FORMS)
y.neg()
library.msptiActivityFlushAll(1)
codes["unsubscribed"] = library.msptiUnsubscribe(first)
print(json.dumps({"codes": codes, "buffers": len(buffers)}))
