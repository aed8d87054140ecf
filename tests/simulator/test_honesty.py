"""No function of the simulator's C libraries answers success without doing its work, unless it says why. 5 s."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ascend_simulator.libraries import plan, stubs
from ascend_simulator.libraries.plan import find_package
from ascend_workbook.machine import simulator
from tests.simulator import exports

CALL_ALL = Path(__file__).with_name("children") / "call_all.py"

#: Functions whose answer to nothing but zeros is 0, and why that is right. All others must answer an error.
ZERO_IS_RIGHT = {
    "HcclGroupStart": "takes no argument",
    "HcclSetConfig": "setting 0 is `deterministic`, which holds",
    "MsprofGetHashId": "the hash of no text",
    "aclAppLog": "returns nothing",
    "aclDestroyTensorDesc": "returns nothing",
    "aclGetTensorDescNumDims": "no description has no dimensions",
    "aclSetTensorDescName": "returns nothing",
    "aclopDestroyAttr": "returns nothing",
    "aclprofDestroyStepInfo": "returns nothing",
    "aclrtCtxSetSysParamOpt": "option 0 is `deterministic`, value 0 is off",
    "aclrtDeviceEnablePeerAccess": "device 0 from device 0 or none: judged by the runtime's own test",
    "aclrtResetDevice": "device 0 exists",
    "aclrtResetDeviceResLimit": "device 0 exists",
    "aclrtResetStreamResLimit": "stream 0 is the default stream",
    "aclrtSetDevice": "device 0 exists",
    "aclrtSetOpExecuteTimeOut": "0 is no limit",
    "aclrtSetOpWaitTimeout": "0 is no limit",
    "aclrtSetStreamFailureMode": "stream 0 is the default stream",
    "aclrtSetStreamOverflowSwitch": "stream 0 is the default stream",
    "aclrtSetSysParamOpt": "option 0 is `deterministic`, value 0 is off",
    "aclrtSynchronizeDevice": "takes no argument; a device is set by then",
    "aclrtSynchronizeDeviceWithTimeout": "a device is set by then",
    "aclrtSynchronizeStream": "stream 0 is the default stream",
    "aclrtSynchronizeStreamWithTimeout": "stream 0 is the default stream",
    "aclrtUnuseStreamResInCurrentThread": "stream 0 is the default stream",
    "aclrtUseStreamResInCurrentThread": "stream 0 is the default stream",
}
#: Functions that answer no error code: a pointer, a count, a time or the last error itself.
NO_ERROR_CODE = {
    "HcclGetCommConfigCapability",
    "HcclGetErrorString",
    "MsprofSysCycleTime",
    "aclCreateDataBuffer",
    "aclCreateTensorDesc",
    "aclGetCompileoptSize",
    "aclGetTensorDescFormat",
    "aclGetTensorDescType",
    "aclopCreateAttr",
    "aclprofCreateConfig",
    "aclprofCreateStepInfo",
    "aclrtGetLastError",
    "aclrtGetSocName",
    "aclrtPeekAtLastError",
}


def sources() -> dict[str, str]:
    found: dict[str, str] = {}
    for part in ("acl", "hccl"):
        for path in sorted(plan.NATIVE.glob(f"{part}/*.cpp")):
            found.update(exports.functions(path.read_text(encoding="utf-8")))
    return found


def libraries() -> list[Path]:
    return [simulator.simulator_location() / "lib64" / name for name in ("libascendcl.so", "libhccl.so")]


def test_every_exported_function_has_a_source(simulator_env: dict[str, str]) -> None:
    """Whatever the libraries export is one of the functions read below, or a stub that answers an error."""
    torch_npu = find_package("torch_npu", simulator.simulator_location() / "python")
    lacking = stubs.listed_functions() | stubs.linked_functions(torch_npu)
    exported = set.union(*map(exports.symbols, libraries()))
    assert exported - set(sources()) - lacking == set()
    assert not set(sources()) & stubs.listed_functions(), "both defined and listed as unsupported"
    assert len(exported) > 150


def test_success_without_work_has_its_reason() -> None:
    assert [why for name, text in sorted(sources().items()) if (why := exports.silent(name, text))] == []


def test_the_reader_sees_a_silent_success() -> None:
    """The check above can fail: three ways to answer success and do nothing."""
    silent = {
        "aclrtFoo": "aclError aclrtFoo(void* a) { return ACL_SUCCESS; }\n",
        "aclrtBar": "// short\naclError aclrtBar(void* a) {\n"
        '  SIM_REQUIRE(a != nullptr, 1, "a (%p)", f(a));\n  return ACL_SUCCESS;\n}\n',
        "aclSetBaz": "void aclSetBaz(int) {}\n",
    }
    for name, text in silent.items():
        assert exports.silent(name, exports.functions(text)[name]), name


def test_zeros_are_an_error_everywhere(simulator_env: dict[str, str]) -> None:
    """Called with zeros, each function answers an error whose message names it, or is listed above."""
    names = sorted(set.union(*map(exports.symbols, libraries())))
    done = subprocess.run(
        [sys.executable, str(CALL_ALL), *map(str, libraries())],
        input=json.dumps(names),
        capture_output=True,
        text=True,
        env=simulator_env,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"crashed in {done.stderr.split()[-1]}"
    answers = json.loads(done.stdout)
    assert len(answers) > 150
    wrong = {name for name, (code, _) in answers.items() if code == 0} - set(ZERO_IS_RIGHT)
    assert wrong == set()
    nameless = {name for name, (code, message) in answers.items() if code != 0 and f"] {name}:" not in message}
    assert nameless - NO_ERROR_CODE == set()
    lacking = [message for name, (_, message) in answers.items() if name in stubs.listed_functions()]
    assert lacking and all("the simulator lacks this function" in message for message in lacking)
    assert 207000 not in {code for code, _ in answers.values()}, "torch_npu passes over 207000 with a warning"
