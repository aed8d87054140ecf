"""A launch plugin: stand-ins for what prepares a model's inputs, where nobody gives the files it is made of.

    processor  what prepares pictures or sound for a model of transformers, as its class does without a file; guessed
    tokenizer  tiktoken's: one token a byte, of as many as the real one has; guessed

Only what failed is replaced, and each is written down (stand_ins.jsonl). Runs in the user's process by path and imports
nothing of the workbook.
"""

from __future__ import annotations

import functools
from importlib import import_module
from types import ModuleType
from typing import Any

#: This file's frames stand between the program and the library; whose line it is must not change by that.
PASSES_THROUGH = True
#: How many tokens without the special ones tiktoken's lists have, by what their addresses hold.
LISTS = {"gpt-2": 50_256, "r50k": 50_256, "p50k": 50_280, "cl100k": 100_256, "o200k": 199_998}
#: Options of asking the hub, which no class takes.
OF_THE_HUB = ("cache_dir", "force_download", "local_files_only", "token", "revision", "trust_remote_code", "use_fast")


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Stand in for what is not to be had from now on."""
    notes = observer.open_notes("stand_ins.jsonl")
    models = "transformers.models.auto"
    observer.after_import(
        {
            "transformers.image_processing_base": lambda module: patch_class(notes, module.ImageProcessingMixin),
            "transformers.feature_extraction_utils": lambda module: patch_class(notes, module.FeatureExtractionMixin),
            f"{models}.image_processing_auto": lambda module: patch_auto(
                module.AutoImageProcessor, module.IMAGE_PROCESSOR_MAPPING
            ),
            f"{models}.feature_extraction_auto": lambda module: patch_auto(
                module.AutoFeatureExtractor, module.FEATURE_EXTRACTOR_MAPPING
            ),
            "tiktoken.load": functools.partial(patch_tokens, notes),
        }
    )


def patch_class(notes: Any, cls: Any) -> None:
    """Let a class make what prepares inputs without a file, where the hub does not give it."""
    ordinary = cls.from_pretrained.__func__

    @functools.wraps(ordinary)
    def from_pretrained(own: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary(own, name, *args, **kwargs)
        except OSError:
            processor = own(**{key: value for key, value in kwargs.items() if key not in OF_THE_HUB})
            notes.add("processor", str(name), guessed=True)
            return processor

    cls.from_pretrained = classmethod(from_pretrained)


def patch_auto(cls: Any, classes: Any) -> None:
    """Let a class that looks for another one find it by the model's configuration, where the hub names none."""
    ordinary = cls.from_pretrained.__func__

    @functools.wraps(ordinary)
    def from_pretrained(own: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary(own, name, *args, **kwargs)
        except OSError:
            config = import_module("transformers").AutoConfig.from_pretrained(name)
            if type(config) not in classes:
                raise
            processor: Any = classes[type(config)]
            if isinstance(processor, dict):
                processor = processor.get("torchvision") or processor.get("pil")
            return processor.from_pretrained(name, *args, **kwargs)

    cls.from_pretrained = classmethod(from_pretrained)


def patch_tokens(notes: Any, module: ModuleType) -> None:
    """Let tiktoken read a made-up list of tokens where it has none."""
    for name in ("data_gym_to_mergeable_bpe_ranks", "load_tiktoken_bpe"):
        setattr(module, name, read_or_make(notes, getattr(module, name)))


def read_or_make(notes: Any, ordinary: Any) -> Any:
    """Return a function that reads a list of tokens, or makes it where it is known how long it is."""

    @functools.wraps(ordinary)
    def read(*args: Any, **kwargs: Any) -> dict[bytes, int]:
        try:
            ranks: dict[bytes, int] = ordinary(*args, **kwargs)
        except OSError:
            address = " ".join(str(value) for value in (*args, *kwargs.values()))
            count = next((count for part, count in LISTS.items() if part in address), None)
            if count is None:
                raise
            notes.add("tokenizer", next(part for part in LISTS if part in address), guessed=True, tokens=count)
            return make_ranks(count)
        return ranks

    return read


def make_ranks(count: int) -> dict[bytes, int]:
    """Return every byte as a token, and tokens of four bytes, which no merging of two comes to."""
    ranks = {bytes([number]): number for number in range(256)}
    return ranks | {number.to_bytes(4, "big"): number for number in range(256, count)}
