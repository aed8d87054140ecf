"""The four cases of the lesson on divergence: what is captured on which side, and the fault that is the answer.

Faults reach the simulated NPU through its settings; docs/simulated_npu.md has their grammar.
"""

from __future__ import annotations

FAULT, NUMERICS = "ASCEND_WORKBOOK_SIM_FAULT", "ASCEND_WORKBOOK_SIM_NUMERICS"
#: What `capture` is told: step 0 and, of one process, the step in which something may happen later.
ONE: dict[str, object] = {"steps": 11, "dump_steps": (0, 9), "nproc": 1}
TWO: dict[str, object] = {"steps": 1, "dump_steps": (0,), "nproc": 2}
#: Case -> options of its captures and settings of the simulated NPU. Longest first: two run at a time.
CASES: dict[str, tuple[dict[str, object], dict[str, str]]] = {
    "first": (ONE, {FAULT: "aten::convolution_backward@2:scale=1.02"}),
    "second": (ONE, {FAULT: "aten::native_layer_norm@step=10:scale=1.03"}),
    "fourth": (ONE, {NUMERICS: "ascend", FAULT: "aten::_softmax@1:scale=1.003"}),
    "third": (TWO, {FAULT: "aten::_softmax@rank=1:scale=1.02"}),
}


def cases_on(device: str) -> dict[str, tuple[str, dict[str, object], dict[str, str]]]:
    """Name -> (device, options, settings) of each capture: the baselines of one and of two processes, then the cases.

    Copies: who changes a setting tries another fault.
    """
    cases: dict[str, tuple[str, dict[str, object], dict[str, str]]] = {
        "gpu_pair": ("baseline", dict(TWO), {}),
        "gpu": ("baseline", dict(ONE), {}),
    }
    for name, (options, settings) in CASES.items():
        cases[name] = (device, dict(options), dict(settings))
    return cases
