"""Calls every C function of the libraries named on the command line with zeros; prints {name: [result, message]}.

The results are read as int32. A function that crashes ends this process, and the test with it.
"""

from __future__ import annotations

import ctypes
import json
import sys

#: These end the process or wait for work that never comes; they have tests of their own.
LEFT_OUT = {"aclInit", "aclFinalize", "aclGetRecentErrMsg"}


def main(names: list[str], *libraries: str) -> None:
    loaded = [ctypes.CDLL(library) for library in libraries]
    recent = loaded[0].aclGetRecentErrMsg
    recent.restype = ctypes.c_char_p
    answers = {}
    for name in names:
        if name in LEFT_OUT:
            continue
        print(name, file=sys.stderr, flush=True)
        recent()
        function = next(getattr(library, name) for library in loaded if hasattr(library, name))
        function.restype = ctypes.c_int32
        result = function(*[ctypes.c_uint64(0)] * 12)
        answers[name] = [result, (recent() or b"").decode()]
    print(json.dumps(answers))


main(json.loads(sys.stdin.read()), *sys.argv[1:])
