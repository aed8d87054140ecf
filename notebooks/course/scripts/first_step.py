"""A first step on the device: who it is, two matrices multiplied, where the result lies and in which format.

    python first_step.py
"""

import torch

if hasattr(torch, "npu") and torch.npu.is_available():
    device = torch.device("npu:0")
    print("device:", torch.npu.get_device_name(0), "x", torch.npu.device_count())
elif torch.cuda.is_available():
    device = torch.device("cuda:0")
    print("device:", torch.cuda.get_device_name(0), "x", torch.cuda.device_count())
else:
    device = torch.device("cpu")
    print("device: cpu")

torch.manual_seed(0)
a = torch.randn(32, 32)
x = a.to(device)
y = x @ x
print("result lives on:", y.device, "| its type:", y.device.type, "| is_cuda:", y.is_cuda)
print("differs from the CPU by less than 0.001:", bool((y.cpu() - a @ a).abs().max() < 1e-3))

if device.type == "npu":
    import torch_npu

    print("format of y:", torch_npu.get_npu_format(y), "(2 is ND)")
    stream, done = torch.npu.Stream(), torch.npu.Event()
    with torch.npu.stream(stream):
        z = y + 1
        done.record()
    done.synchronize()
    print("a second stream computed:", bool((z.cpu() == y.cpu() + 1).all()))
