"""The CPU standing in for CUDA: an unmodified GPU script runs on a machine without a GPU.

It replaces, in this process, the places of torch's Python interface where a script names a CUDA device, so
that they mean the CPU. Arithmetic is torch's own CPU arithmetic; what CUDA's autocast would do to each
operator, what a GradScaler does, and which random stream is drawn from are kept as on CUDA:

- `torch.cuda` says that there is a device (one, or one per process under torchrun). Its streams and events
  do nothing but read the clock; its memory figures are 0 and noted as not measured.
- A device object stays what the script wrote: `torch.device("cuda").type` is "cuda". A tensor says the truth:
  its `device` is the CPU and its `is_cuda` is False, so code that picks a CUDA-only kernel by `is_cuda` takes
  its portable branch. Which side a tensor is on for the script is remembered by its storage (sides.py): moving one
  to the GPU or back is a copy, as there.
- `torch.autocast` of any device type is CUDA's (autocast.py): a script's `autocast(x.device.type)` must not
  become the CPU's autocast with its other lists and dtype.
- Random numbers that CUDA would draw from the GPU's stream (dropout, `torch.rand(..., device="cuda")`, what is
  drawn like a tensor of the GPU's or written into one) are drawn from a stream of their own, so that the CPU's
  stream, hence shuffling and initialisation, is as on a GPU machine. Their values are not CUDA's. Activation
  checkpointing saves and restores that stream too.
- `nccl` means gloo. `torch.compile` hands back what it is given: the baseline runs eagerly.

Where numbers therefore differ from those of the script as it is on the CPU, a note in the log says why; all others
are equal to the last bit. What it cannot stand in for raises `NotStandIn`, which names it. Nothing here is shared with
the simulated NPU.
"""

from __future__ import annotations

from collections.abc import Callable


def install_baseline(note: Callable[..., None]) -> None:
    """Replace torch's CUDA, once, before the script begins; `note` takes remarks for the log."""
    import torch

    if not hasattr(torch, "get_autocast_dtype"):
        raise RuntimeError(f"baseline=cpu needs torch 2.4 or newer, this is {torch.__version__}")
    from . import autocast, cuda, distributed, random, sides, tensors

    sides.install_sides()
    tensors.install_factories()
    tensors.install_tensors()
    random.install_random(note)
    cuda.install_cuda(note)
    random.install_recompute()
    autocast.install_autocast(note)
    distributed.install_distributed()

    def leave_uncompiled(model: object = None, *args: object, **kwargs: object) -> object:
        note("compile_left_out")
        return (lambda function: function) if model is None else model

    def compile_module(self: torch.nn.Module, *args: object, **kwargs: object) -> None:
        note("compile_left_out")

    torch.compile = leave_uncompiled
    torch.nn.Module.compile = compile_module
