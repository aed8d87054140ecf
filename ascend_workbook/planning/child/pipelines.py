"""A launch plugin: stand-ins for the parts of a pipeline of diffusers, where the Hugging Face hub cannot be reached.

    model  a part (unet, vae) of a pipeline of a known name, as its configuration builds it

Its text encoders and tokenizers are those of hub.py. Only what failed is replaced, and each is written down
(stand_ins.jsonl). Runs in the user's process by path and imports nothing of the workbook. Configuration: pipelines, a
list of {names, parts}.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

#: This file's frames stand between the program and the library; whose line it is must not change by that.
PASSES_THROUGH = True


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Stand in for what the hub does not give from now on."""
    notes = observer.open_notes("stand_ins.jsonl")
    known = {name: each["parts"] for each in config.get("pipelines", ()) for name in each["names"]}
    observer.after_import(
        {
            "diffusers.models.modeling_utils": functools.partial(patch_models, notes, known),
            "diffusers.schedulers.scheduling_utils": functools.partial(patch_schedulers, known),
        }
    )


def find_part(known: dict[str, Any], name: Any, settings: dict[str, Any]) -> dict[str, Any] | None:
    """Return the configuration of a pipeline's part that is asked for, or of a model by its own name; None where it is
    not known."""
    last = str(name).rstrip("/").rpartition("/")[2].lower()
    part: dict[str, Any] | None = known.get(last, {}).get(settings.get("subfolder") or "")
    return part


def patch_models(notes: Any, known: dict[str, Any], module: ModuleType) -> None:
    """Build a model where its weights are not to be had."""
    cls = module.ModelMixin
    ordinary = cls.from_pretrained.__func__

    @functools.wraps(ordinary)
    def from_pretrained(own: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary(own, name, *args, **kwargs)
        except OSError:
            config = find_part(known, name, kwargs)
            if config is None:
                raise
            model = own.from_config(config)
            dtype = kwargs.get("torch_dtype", kwargs.get("dtype"))
            model = model.to(dtype) if dtype not in (None, "auto") else model
            count = sum(each.numel() for each in model.parameters())
            notes.add(
                "model", "/".join(filter(None, (str(name), kwargs.get("subfolder")))), guessed=False, parameters=count
            )
            return model.eval()

    cls.from_pretrained = classmethod(from_pretrained)


def patch_schedulers(known: dict[str, Any], module: ModuleType) -> None:
    """Make a schedule of noise where its numbers are not to be had."""
    cls = module.SchedulerMixin
    ordinary = cls.from_pretrained.__func__

    @functools.wraps(ordinary)
    def from_pretrained(own: Any, name: Any = None, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary(own, name, *args, **kwargs)
        except OSError:
            config = find_part(known, name, {"subfolder": args[0] if args else None, **kwargs})
            if config is None:
                raise
            return own.from_config(config)

    cls.from_pretrained = classmethod(from_pretrained)
