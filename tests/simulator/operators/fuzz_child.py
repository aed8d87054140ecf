"""Calls random operators with random arguments on the simulated NPU: errors are welcome, the end of the process is not,
and where both the NPU and the CPU answer, they answer alike.

    python fuzz_child.py SEED CALLS [cpu]

Started by path, in the simulator's environment, by test_fuzz.py. Before each call one line says what is called, so
that the last line before a crash names its cause; with `cpu` the same calls run without the simulator.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from torch.utils._pytree import tree_flatten

#: Never called: they end the process or wait on purpose, or want memory by the argument.
LEFT_OUT = {"_assert_async", "_assert_scalar", "_functional_assert_scalar", "record_stream", "_local_scalar_dense"}
DTYPES = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.int8,
    torch.bool,
    torch.complex64,
)
#: torch_npu's pinned memory is a null pointer where the host has too little, which any kernel then writes to.
NOT_DRAWN = {"pin_memory", "generator"}
#: Takes whole numbers, which the CPU's kernel does not: there in float64, which is exact.
COUNTS = "aten::histc"
#: A call that wants more gets an error and not the machine.
MEMORY_LIMIT = 6 << 30
SHAPES = st.lists(st.sampled_from([0, 1, 2, 2, 3, 3, 4, 5]), max_size=5)
INTEGERS = st.one_of(st.integers(-3, 6), st.just(2**50), st.just(-(2**50)))
SMALL = st.integers(-2, 5)


def overloads() -> list[Any]:
    """The operators that the simulator took over, as torch.ops finds them; backward kernels, which take each other's
    intermediate results on trust, only where nothing private is in their names."""
    found = []
    for full in sorted(torch._C._dispatch_get_all_op_names()):
        name, _, overload = full.partition(".")
        plain = name.removeprefix("aten::")
        if not name.startswith("aten::") or plain.startswith("_") or "backward" in plain or plain in LEFT_OUT:
            continue
        packet = getattr(torch.ops.aten, plain, None)  # torch_npu registers kernels for names that have no schema
        if packet is not None and torch._C._dispatch_has_kernel_for_dispatch_key(full, "PrivateUse1"):
            found.append(getattr(packet, overload or "default"))
    return found


@dataclass(frozen=True)
class Drawn:
    """A tensor that can be made twice, on either device, with the same strides."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    start: int
    form: str

    def on(self, device: str) -> torch.Tensor:
        numbers = torch.arange(torch.Size(self.shape).numel()).reshape(self.shape) % 7 - self.start
        tensor = numbers.to(self.dtype).to(device)
        if self.form == "transposed" and tensor.dim() > 1:
            return tensor.transpose(0, -1)
        if self.form == "expanded":
            return tensor.unsqueeze(0).expand(2, *tensor.shape)
        return tensor[..., ::2] if self.form == "strided" and tensor.dim() > 0 else tensor

    def __repr__(self) -> str:
        return f"{self.form} {self.dtype} {list(self.shape)} from {-self.start}"


TENSORS = st.builds(
    Drawn,
    st.sampled_from(DTYPES),
    SHAPES.map(tuple),
    st.integers(0, 3),
    st.sampled_from(["plain", "plain", "plain", "transposed", "expanded", "strided"]),
)
HERE = "the device of the call"


def argument(kind: str) -> st.SearchStrategy[Any]:
    """Values for one argument, by the type its schema states; None where there is no value to draw."""
    if kind.startswith("Optional["):
        return st.one_of(st.none(), argument(kind[len("Optional[") : -1]))
    if kind.startswith("List["):
        inner = kind[len("List[") : -1]
        return st.lists(SMALL if inner in ("int", "SymInt") else argument(inner), max_size=4)
    return KINDS.get(kind, st.none())


KINDS: dict[str, st.SearchStrategy[Any]] = {
    "Tensor": TENSORS,
    "int": INTEGERS,
    "SymInt": INTEGERS,
    "float": st.sampled_from([0.0, 0.5, 1.0, -2.0, 1e30, float("nan"), float("inf")]),
    "bool": st.booleans(),
    "number": st.sampled_from([0, 1, -2, 0.5, True, 1e20]),
    "str": st.sampled_from(["none", "mean", "sum", "floor", "trunc", "reflect", "sobel"]),
    "Device": st.just(HERE),
    "ScalarType": st.sampled_from(DTYPES),
    "Layout": st.just(torch.strided),
    "MemoryFormat": st.sampled_from([torch.contiguous_format, torch.preserve_format]),
}


def made(value: Any, device: str) -> Any:
    if isinstance(value, list):
        return [made(one, device) for one in value]
    if isinstance(value, Drawn):
        return value.on(device)
    return torch.device(device) if value is HERE else value


def answer(op: Any, drawn: list[Any], device: str) -> tuple[str, list[torch.Tensor]]:
    """The error's kind, or "" and every tensor after the call: the results, then the arguments it may have changed."""
    torch.manual_seed(0)
    try:
        values = made(drawn, device)
        wide = device == "cpu" and op._schema.name == COUNTS and values[0].dtype == torch.int32
        if wide:
            values = [value.double() if isinstance(value, torch.Tensor) else value for value in values]
        given_by_name = {one.name: v for one, v in zip(op._schema.arguments, values) if one.kwarg_only}
        result = op(*(v for one, v in zip(op._schema.arguments, values) if not one.kwarg_only), **given_by_name)
        leaves = [leaf for leaf in tree_flatten([result, values])[0] if isinstance(leaf, torch.Tensor)]
        return "", [leaf.int() if wide else leaf.cpu() for leaf in leaves]
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, AssertionError) as error:
        return type(error).__name__, []


def differs(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> str:
    """How the answers part; float64 may come back as float32, which torch_npu documents."""
    for mine, other in zip(ours, theirs):
        coarse = {mine.dtype, other.dtype} & {torch.float16, torch.bfloat16}
        narrowed = {mine.dtype, other.dtype} in ({torch.float32, torch.float64}, {torch.complex64, torch.complex128})
        if mine.dtype != other.dtype and not narrowed:
            return f"{mine.dtype} is not {other.dtype}"
        tolerance = 2e-2 if coarse else 1e-4
        try:
            torch.testing.assert_close(mine, other, rtol=tolerance, atol=tolerance, equal_nan=True, check_dtype=False)
        except AssertionError as error:
            return str(error).split("\n\n")[0].replace("\n", " ")
    return "" if len(ours) == len(theirs) else f"{len(ours)} tensors are not {len(theirs)}"


def comparable(op: Any) -> bool:
    """Whether the CPU has it, and only arguments make the answer: `set_` and the like show memory as another type."""
    name = op._schema.name
    if not torch._C._dispatch_has_computed_kernel_for_dispatch_key(op._name, "CPU"):
        return False
    depends = name == "aten::set_" or "empty" in name or "resize" in name
    return not depends and torch.Tag.nondeterministic_seeded not in op.tags


def main() -> None:
    warnings.simplefilter("ignore")
    number, calls = int(sys.argv[1]), int(sys.argv[2])
    device = sys.argv[3] if len(sys.argv) > 3 else "npu"
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    ops, outcomes = overloads(), Counter[str]()

    @seed(number)
    @settings(
        max_examples=calls,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def call(data: st.DataObject) -> None:
        op = data.draw(st.sampled_from(ops))
        drawn = [
            None if one.name in NOT_DRAWN else data.draw(argument(str(one.real_type))) for one in op._schema.arguments
        ]
        print("CALL", op, drawn, flush=True)
        error, ours = answer(op, drawn, device)
        outcomes[error or "answered"] += 1
        if device == "cpu" or error or not comparable(op):
            return
        print("ON THE CPU", flush=True)
        error, theirs = answer(op, drawn, "cpu")
        wrong = f"the CPU raises {error}" if error else differs(ours, theirs)
        if wrong:
            print("WRONG", op, drawn, wrong, flush=True)
        outcomes["wrong" if wrong else "equal"] += 1

    call()
    print("DONE", json.dumps({"operators": len(ops), **outcomes}), flush=True)


if __name__ == "__main__":
    main()
