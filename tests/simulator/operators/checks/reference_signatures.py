"""Every reference stands for an operator that this torch_npu has, with arguments that the operator has."""

from __future__ import annotations

import inspect
import sys

import torch
import torch_npu


def check_every_reference_fits_its_operator() -> None:
    torch_npu.npu_swiglu(torch.ones(2, device="npu"))  # the first call loads them
    found = sys.modules["_npu_sim_references"].all_references()
    for name, reference in found.items():
        namespace, _, local = name.partition("::")
        base, _, overload = local.partition(".")
        schema = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")._schema
        arguments = {argument.name: argument for argument in schema.arguments}
        parameters = inspect.signature(reference.function).parameters
        unknown = set(parameters) - set(arguments) - {"generator"}
        assert not unknown, f"{name}: torch_npu's operator has no {sorted(unknown)}, but {sorted(arguments)}"
        left_out = set(arguments) - set(parameters) - set(reference.writes)
        required = [key for key in left_out if not arguments[key].has_default_value()]
        assert not required, f"{name}: the reference does not take {required}"
        for key in set(parameters) & set(arguments):
            default = parameters[key].default
            default = list(default) if isinstance(default, tuple) else default
            if arguments[key].has_default_value() and default is not inspect.Parameter.empty:
                assert default == arguments[key].default_value, f"{name}: default of {key}"


def check_what_is_simulated_is_registered() -> None:
    names = set(torch._C._dispatch_get_all_op_names())
    for name in sys.modules["_npu_sim_references"].all_references():
        assert f"_npu_sim_references::{name.partition('::')[2]}" in names, name
