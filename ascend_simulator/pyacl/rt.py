"""acl.rt: devices, streams, events and memory of the simulated runtime.

Pointers, streams and events are whole numbers."""

from __future__ import annotations

from typing import Any, NoReturn

from .calling import FLOAT, I32, POINTER, SIZE, U32, Lacking, Out, make_function

#: Functions of acl.rt: the C function behind each, and what it takes and gives
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "set_device": ("aclrtSetDevice", I32),
    "reset_device": ("aclrtResetDevice", I32),
    "get_device": ("aclrtGetDevice", Out(I32)),
    "get_device_count": ("aclrtGetDeviceCount", Out(U32)),
    "get_run_mode": ("aclrtGetRunMode", Out(I32)),
    "get_context": ("aclrtGetCurrentContext", Out(POINTER)),
    "set_context": ("aclrtSetCurrentContext", POINTER),
    "synchronize_device": ("aclrtSynchronizeDevice",),
    "create_stream": ("aclrtCreateStream", Out(POINTER)),
    "destroy_stream": ("aclrtDestroyStream", POINTER),
    "synchronize_stream": ("aclrtSynchronizeStream", POINTER),
    "synchronize_stream_with_timeout": ("aclrtSynchronizeStreamWithTimeout", POINTER, I32),
    "stream_wait_event": ("aclrtStreamWaitEvent", POINTER, POINTER),
    "create_event": ("aclrtCreateEvent", Out(POINTER)),
    "create_event_with_flag": ("aclrtCreateEventWithFlag", Out(POINTER), U32),
    "destroy_event": ("aclrtDestroyEvent", POINTER),
    "record_event": ("aclrtRecordEvent", POINTER, POINTER),
    "reset_event": ("aclrtResetEvent", POINTER, POINTER),
    "synchronize_event": ("aclrtSynchronizeEvent", POINTER),
    "query_event_status": ("aclrtQueryEventStatus", POINTER, Out(I32)),
    "event_elapsed_time": ("aclrtEventElapsedTime", Out(FLOAT), POINTER, POINTER),
    "malloc": ("aclrtMalloc", Out(POINTER), SIZE, I32),
    "free": ("aclrtFree", POINTER),
    "malloc_host": ("aclrtMallocHost", Out(POINTER), SIZE),
    "free_host": ("aclrtFreeHost", POINTER),
    "memcpy": ("aclrtMemcpy", POINTER, SIZE, POINTER, SIZE, I32),
    "memcpy_async": ("aclrtMemcpyAsync", POINTER, SIZE, POINTER, SIZE, I32, POINTER),
    "memset": ("aclrtMemset", POINTER, SIZE, I32, SIZE),
    "memset_async": ("aclrtMemsetAsync", POINTER, SIZE, I32, SIZE, POINTER),
    "get_mem_info": ("aclrtGetMemInfo", I32, Out(SIZE), Out(SIZE)),
    "set_stream_res_limit": ("aclrtSetStreamResLimit", POINTER, I32, U32),
    "get_stream_res_limit": ("aclrtGetStreamResLimit", POINTER, I32, Out(U32)),
}
globals().update({name: make_function(name, *parts) for name, parts in FUNCTIONS.items()})


def create_context(device_id: int) -> tuple[int, int]:
    """Return the device's context, now this thread's: a device has one here, however many are asked for."""
    code = int(globals()["set_device"](device_id))
    context, got = globals()["get_context"]() if code == 0 else (0, code)
    return int(context), int(got)


def destroy_context(context: int) -> int:
    """Give a context back; the device's own stays, and with it other contexts of the device."""
    return int(globals()["set_context"](context))


def __getattr__(name: str) -> NoReturn:
    raise Lacking(f"acl.rt.{name}")
