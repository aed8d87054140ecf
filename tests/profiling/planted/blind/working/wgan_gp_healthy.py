"""WGAN-GP, 2-d toy."""
import gc
import time
import torch
from torch import autograd, nn, optim

use_cuda = torch.cuda.is_available()
DIM, BATCH, CRITIC_ITERS, ITERS = 512, 256, 3, 10
device = "cuda" if use_cuda else "cpu"


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, DIM), nn.ReLU(True), nn.Linear(DIM, DIM), nn.ReLU(True), nn.Linear(DIM, o)).to(device)


def gradient_penalty(D, real, fake):
    alpha = torch.rand(real.size(0), 1, device=device)
    mix = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    g = autograd.grad(D(mix).sum(), mix, create_graph=True)[0]
    return ((g.norm(2, dim=1) - 1) ** 2).mean() * 0.1


def free():
    gc.collect()
    if use_cuda:
        torch.cuda.empty_cache()


torch.manual_seed(1)
netG, netD = mlp(2, 2), mlp(2, 1)
optD = optim.Adam(netD.parameters(), lr=1e-4, betas=(0.5, 0.9))
optG = optim.Adam(netG.parameters(), lr=1e-4, betas=(0.5, 0.9))
history = {"samples": [(i, float(i), str(i)) for i in range(100000)]}
start = time.perf_counter()
for iteration in range(ITERS):
    for p in netD.parameters():
        p.requires_grad = True
    for _ in range(CRITIC_ITERS):
        real = torch.randn(BATCH, 2, device=device) * 0.02 + torch.randint(-2, 3, (BATCH, 2), device=device)
        fake = netG(torch.randn(BATCH, 2, device=device)).detach()
        netD.zero_grad()
        lossD = netD(fake).mean() - netD(real).mean() + gradient_penalty(netD, real, fake)
        lossD.backward()
        optD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    lossG = -netD(netG(torch.randn(BATCH, 2, device=device))).mean()
    lossG.backward()
    optG.step()
print(lossD.item(), lossG.item())
print(f"steps_seconds={time.perf_counter() - start:.4f}")
