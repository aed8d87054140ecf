"""Depth, normals and classes of a scene from one trunk; the tasks are weighed by the norms of their gradients."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Trunk(nn.Module):
    def __init__(self, width=32, depth=4):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.layers = nn.ModuleList([nn.Conv2d(width, width, 3, padding=1) for _ in range(depth)])

    def forward(self, x):
        x = torch.relu(self.enter(x))
        for layer in self.layers:
            x = x + torch.relu(layer(x))
        return x


class Scene(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.trunk = Trunk(width)
        self.heads = nn.ModuleList([nn.Conv2d(width, out, 1) for out in (1, 3, 10)])

    def forward(self, x):
        shared = self.trunk(x)
        return [head(shared) for head in self.heads]


def weigh_tasks(losses, model):
    shared = list(model.trunk.parameters())
    norms = []
    for loss in losses:
        grads = torch.autograd.grad(loss, shared, retain_graph=True)
        norms.append(torch.stack(torch._foreach_norm(grads)).norm())
    norms = torch.stack(norms)
    return norms.mean() / (norms + 1e-6)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Scene().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(48, 4, 3, 48, 48, device=device)
    depth = torch.rand(48, 4, 1, 24, 24, device=device)
    normal = torch.randn(48, 4, 3, 24, 24, device=device)
    label = torch.randint(10, (48, 4, 24, 24), device=device)
    for step in range(48):
        seen, facing, classes = model(images[step])
        losses = [F.l1_loss(seen, depth[step]), F.mse_loss(facing, normal[step]), F.cross_entropy(classes, label[step])]
        weights = weigh_tasks(losses, model)
        loss = (weights * torch.stack(losses)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
