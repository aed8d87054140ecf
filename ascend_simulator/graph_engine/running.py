"""Running a graph that torchair has lowered."""

from __future__ import annotations

from typing import Any

from .refusing import refuse


def run_graph(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Run the captured graph on the simulated NPU's kernels. In the place of torchair's GeConcreteGraph.__call__, whose
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
    outputs = self._fx_graph(*args, **kwargs)
    return tuple(outputs)
