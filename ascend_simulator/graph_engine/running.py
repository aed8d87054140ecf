"""What is changed in torchair's own modules when they are loaded: graphs run on the simulated NPU's kernels."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from .refusing import refuse


def run_graph(self: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Run the captured graph on the simulated NPU's kernels, in the place of torchair's GeConcreteGraph.__call__, whose
    preparations of the first call are made as there."""
    if self.config.export.export_mode:
        refuse("exporting a graph (dynamo_export): there is no graph engine to write it")
    if self.should_auto_tune:
        refuse("aoe_config: there is no device whose times could tune a graph")
    if not self._is_compiled:
        functions = [info.func for info in self._input_info_list]
        self._input_process = self._gen_input_process(self._fx_input_names, self._all_sym_input_idx, functions)
        self.update_graph_with_runtime(self._input_process(*args), args)
        self.graph.load(self._normalize_ge_option()[0])
        self.compile()
    return tuple(self._fx_graph(*args, **kwargs))


def refuse_fused_attention(*args: object, **kwargs: object) -> NoReturn:
    """Refuse what torchair cannot lower: it knows npu_fusion_attention, and not its third version."""
    raise NotImplementedError(
        "[simulated NPU] for scaled_dot_product_attention torch_npu takes npu::npu_fusion_attention_v3, which torchair "
        "cannot lower: write the formula, or call torch_npu.npu_fusion_attention, of which torchair lowers the forward"
    )


def mend_graphs(module: ModuleType) -> None:
    """Let graphs run here, and know by its own name the operator that stands for the NPU's attention."""
    import torch

    module.GeConcreteGraph.__call__ = run_graph
    aten = torch.ops.aten
    for operator in (
        aten._scaled_dot_product_flash_attention_for_cpu.default,
        aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
    ):
        module.register_fx_node_ge_converter(operator)(refuse_fused_attention)


def mend_shapes(module: ModuleType) -> None:
    """Leave the dropout mask as the simulated NPU makes it, a bool for each element; the NPU packs eight to a byte."""
    import torch

    for overload in torch.ops.aten.native_dropout.overloads():
        module.npu_meta_table.pop(getattr(torch.ops.aten.native_dropout, overload), None)


#: Modules of torchair and of npugraph_ex, and what is changed in them
CHANGED = {
    "torchair._ge_concrete_graph.fx2ge_converter": mend_graphs,
    "torchair._utils": mend_shapes,
    "npugraph_ex._utils": mend_shapes,
}
