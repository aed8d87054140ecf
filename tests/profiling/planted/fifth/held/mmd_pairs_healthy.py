"""Domain adaptation of sensor readings: features of both domains are drawn together by the maximum mean discrepancy."""
import torch
import torch.nn as nn


def gaussian_kernels(source, target, widths=(1.0, 2.0, 4.0)):
    total = torch.cat([source, target])
    squares = (total * total).sum(1)
    distances = squares[:, None] + squares[None] - 2 * total @ total.t()
    bandwidth = distances.detach().mean()
    return sum(torch.exp(-distances / (bandwidth * width)) for width in widths)


def mmd(source, target):
    kernels = gaussian_kernels(source, target)
    half = len(source)
    return kernels[:half, :half].mean() + kernels[half:, half:].mean() - 2 * kernels[:half, half:].mean()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    encoder = nn.Sequential(nn.Linear(96, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64)).to(device)
    head = nn.Linear(64, 6).to(device)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=1e-3)
    source, target = torch.randn(8, 96, 96, device=device), torch.randn(8, 96, 96, device=device) + 0.5
    labels = torch.randint(0, 6, (8, 96), device=device)
    for step in range(48):
        part = step % 8
        ours, theirs = encoder(source[part]), encoder(target[part])
        loss = nn.functional.cross_entropy(head(ours), labels[part]) + 0.5 * mmd(ours, theirs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
