"""A stand-in for CANN's Python module `acl` (pyACL) over the simulated runtime: devices, streams, memory, models.

Names, arguments and results are those of the public reference (https://www.hiascend.com/document, "pyACL API"): results
come before the error code, 0 is success. What is not here is refused by name: acl.op, acl.media and others.

The build copies this folder into the simulator as `acl`: modules here import relatively, and nothing of ours."""

from __future__ import annotations

import os
from typing import NoReturn

from . import mdl, rt, util
from .buffers import (
    create_data_buffer,
    destroy_data_buffer,
    get_data_buffer_addr,
    get_data_buffer_size,
    get_data_buffer_size_v2,
    update_data_buffer,
)
from .calling import LIBRARY, Lacking, call_c

__all__ = ["finalize", "get_recent_err_msg", "get_soc_name", "init", "mdl", "rt", "util"]
__all__ += ["create_data_buffer", "destroy_data_buffer", "get_data_buffer_addr", "get_data_buffer_size"]
__all__ += ["get_data_buffer_size_v2", "update_data_buffer"]


def init(config_path: str = "") -> int:
    """Start the runtime; of the JSON file at `config_path` the default device alone has an effect."""
    return int(LIBRARY.aclInit(os.fsencode(config_path) if config_path else None))


def finalize() -> int:
    """End the runtime."""
    return int(LIBRARY.aclFinalize())


def get_soc_name() -> str:
    """Return the chip's name."""
    return call_c("aclrtGetSocName")


def get_recent_err_msg() -> str:
    """Return this thread's last error message."""
    return call_c("aclGetRecentErrMsg")


def __getattr__(name: str) -> NoReturn:
    raise Lacking(f"acl.{name}")
