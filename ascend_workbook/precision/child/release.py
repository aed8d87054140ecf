"""Takes msprobe's hooks out again once the last wanted step is captured. Loaded by path.

msprobe replaces functions of torch and hangs hooks on modules, and leaves both for the rest of the process. A name that
the script itself had bound (`from torch import relu`) keeps msprobe's wrapper, which calls through when it is off."""

from __future__ import annotations

import sys

import torch

# ruff: noqa: SIM905 - a column of names reads better without quotes
#: Where msprobe 26.x replaces attributes: api_register.py, script_wrapper.py, register_optimizer_hook.py,
#: hook_wrapper.py. Only those that are imported.
OWNERS = """
torch torch.Tensor torch.nn.functional torch.linalg torch.fft torch.special torch._VF torch.distributed
torch.distributed.Work torch.distributed.distributed_c10d torch.jit torch.nn.utils torch.utils.hooks.BackwardHook
torch.autograd.Function torch.npu torch_npu torch._dynamo.convert_frame torch.nn.Module
""".split()
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
WITH = ("_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs", "_forward_hooks_always_called")
OURS = "msprobe"


class Kept:
    """What stood in torch before msprobe came. `restore` puts it back and tells what it found."""

    def __init__(self) -> None:
        self.before = {name: dict(vars(owner)) for name in OWNERS if (owner := _find_owner(name)) is not None}

    def restore(self, model: torch.nn.Module | None) -> dict[str, object]:
        """{"replaced": functions that msprobe had replaced, "hooks": on modules, "left": names it still holds}."""
        replaced = 0
        for name in self.before:
            for key in self._replaced_names(name):
                replaced += 1
                self._put_back(name, key)
        hooks = _remove_hooks(model) if model is not None else 0
        left = [f"{name}.{key}" for name in self.before for key in self._replaced_names(name)]
        return {"replaced": replaced, "hooks": hooks, "left": left}

    def _replaced_names(self, name: str) -> list[str]:
        now, before = dict(vars(_find_owner(name))), self.before[name]
        return [key for key, value in now.items() if value is not before.get(key, _find_owner) and _is_theirs(value)]

    def _put_back(self, name: str, key: str) -> None:
        owner, before = _find_owner(name), self.before[name]
        if key in before:
            setattr(owner, key, before[key])
        else:
            delattr(owner, key)


def _find_owner(name: str) -> object:
    """A module or class by its dotted name; None where it is not there."""
    owner: object = sys.modules.get("torch" if name.startswith("torch.") else name)
    for piece in name.split(".")[1:]:
        owner = vars(owner).get(piece) if owner is not None and hasattr(owner, "__dict__") else None
    return owner


def _is_theirs(value: object) -> bool:
    """A plain function of msprobe's, or a method of one of its classes; not its modules."""
    inner = getattr(value, "__func__", value)
    return callable(inner) and str(getattr(inner, "__module__", "")).split(".")[0] == OURS


def _remove_hooks(model: torch.nn.Module) -> int:
    """Hooks, wrapped forwards and marks of msprobe's on every module; counts the hooks."""
    count = 0
    for module in model.modules():
        for kind in HOOKS:
            hooks = getattr(module, kind, {})
            msprobe_keys = [key for key, hook in hooks.items() if _is_theirs(hook)]
            count += len(msprobe_keys)
            for key in msprobe_keys:
                del hooks[key]
                for more in WITH:
                    getattr(module, more, {}).pop(key, None)
        own = vars(module)
        if _is_theirs(own.get("forward")):
            del own["forward"]
        for mark in [key for key in own if key.startswith(f"{OURS}_")]:
            del own[mark]
    return count
