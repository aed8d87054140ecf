"""Train a small network in mixed precision for the course: displacements read from images. Made for a GPU.

The network gives millimetres, the loss is taken in metres.

    python half_net.py --dtype fp32
    python half_net.py --dtype fp16 --scaler none
    python half_net.py --dtype fp16 --scaler dynamic --growth-interval 10
    python half_net.py --dtype fp16 --scaler static --scale 1024
"""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

METRES = 1e-3  # of a millimetre
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


class Net(nn.Module):
    """Image (1, 16, 16) -> displacement of every pixel in millimetres, (1, 256)."""

    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = F.gelu(self.conv2(F.gelu(self.conv1(x))))
        tokens = self.norm(x.flatten(2).transpose(1, 2))
        weights = F.softmax(tokens @ tokens.transpose(1, 2) / 4, dim=-1)
        return self.head(tokens + weights @ tokens).transpose(1, 2)


def sample():
    """Images, and the displacement of every pixel in metres."""
    images = torch.randn(8, 1, 16, 16, generator=torch.Generator().manual_seed(1))
    smooth = F.avg_pool2d(images, 3, stride=1, padding=1)
    return images.cuda(), (METRES * smooth).flatten(2).cuda()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", choices=DTYPES, default="fp32")
    parser.add_argument("--scaler", choices=("none", "dynamic", "static"), default="none")
    parser.add_argument("--scale", type=float, default=65536.0)
    parser.add_argument("--growth-interval", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Net().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, eps=1e-14)
    dynamic = torch.cuda.amp.GradScaler(
        init_scale=args.scale, growth_interval=args.growth_interval, enabled=args.scaler == "dynamic"
    )
    images, wanted = sample()
    for step in range(1, args.steps + 1):
        with torch.cuda.amp.autocast(enabled=args.dtype != "fp32", dtype=DTYPES[args.dtype]):
            loss = F.mse_loss(model(images) * METRES, wanted)
        optimizer.zero_grad()
        scale = args.scale if args.scaler == "static" else 1.0
        if args.scaler == "dynamic":
            dynamic.scale(loss).backward()
            dynamic.step(optimizer)
            dynamic.update()
            scale = dynamic.get_scale()
        else:
            (loss * scale).backward()
            for parameter in model.parameters():
                parameter.grad /= scale
            optimizer.step()
        gradients = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
        zero = (gradients == 0).float().mean().item()
        print(f"step {step} loss {loss.item():.6e} loss_scale {scale:.0f} zero_gradients={zero:.3f}", flush=True)


if __name__ == "__main__":
    main()
