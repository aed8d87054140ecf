"""Plugins: files of other parts of the workbook that ride in the user's training process.

A plugin is a Python file with a function `attach_plugins(observer, config)`; `config` is what the launch gave for it
(JSON). It is loaded by path and must import nothing of the workbook's package. Example: dump two steps.

    # dump_plugin.py
    def attach(observer, config):
        from msprobe.pytorch import PrecisionDebugger
        debugger = PrecisionDebugger(config_path=config["config_path"])

        def begin(model):            # just before the first forward
            debugger.start(model=model)

        def next_step(step):         # right after the update that ends a step; step["step"] is 1, 2, ...
            debugger.stop()
            debugger.step()
            if step["step"] < config["steps"]:
                debugger.start(model=observer.model)

        observer.on_model(begin)
        observer.on_step(next_step)
        observer.on_end(lambda status: debugger.stop())

`attach_plugins` itself runs after torch is imported and transformed and before the script's first line: functions
that a script binds with `from torch.nn.functional import gelu` are replaced in time.
The callbacks are described in observer.py. `observer.out` is the launch's folder (pathlib.Path),
`observer.rank` and `observer.world_size` this process's place, `observer.steps_done` the steps so far,
`observer.limit` the step after which the run is stopped (None: never), `observer.note(code, **args)` a remark
in gpulog.json. The step that reaches the limit still calls `on_step` before the run is unwound; `on_end` comes
last, whether the script ended, failed or was stopped. Where a script is run by several processes each has its
own observer and plugins; a process that the script spawns attaches them when it makes its first optimiser.
An error raised by a plugin ends the run as failed.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from .observer import Observer


def attach_plugins(observer: Observer, plugins: list[dict[str, Any]]) -> None:
    """Load and attach each `{"path": ..., "config": ...}`."""
    for number, plugin in enumerate(plugins):
        path = Path(plugin["path"])
        spec = importlib.util.spec_from_file_location(f"_workbook_plugin_{number}_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} cannot be loaded as a launch plugin")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.attach(observer, plugin["config"])
