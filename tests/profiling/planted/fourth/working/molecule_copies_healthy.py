"""A graph isomorphism network over small molecules."""
import torch
import torch.nn as nn


def make_molecules(count):
    made = []
    for _ in range(count):
        atoms = int(torch.randint(8, 20, (1,)))
        bonds = torch.randint(atoms, (2, 3 * atoms))
        made.append({"x": torch.randn(atoms, 17), "edges": bonds, "y": torch.randn(1)})
    return made


def make_batch(molecules, device):
    features, edges, owner, targets, start = [], [], [], [], 0
    for i, one in enumerate(molecules):
        features.append(one["x"])
        edges.append(one["edges"] + start)
        owner.append(torch.full((len(one["x"]),), i))
        targets.append(one["y"])
        start += len(one["x"])
    parts = torch.cat(features), torch.cat(edges, 1), torch.cat(owner), torch.cat(targets)
    return [part.to(device) for part in parts]


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, x, edges):
        return x + self.net(x.index_add(0, edges[1], x[edges[0]]))


class Gin(nn.Module):
    def __init__(self, width=128, depth=4):
        super().__init__()
        self.enter = nn.Linear(17, width)
        self.layers = nn.ModuleList([Layer(width) for _ in range(depth)])
        self.head = nn.Linear(width, 1)

    def forward(self, x, edges, owner, count):
        x = self.enter(x)
        for layer in self.layers:
            x = layer(x, edges)
        pooled = x.new_zeros(count, x.shape[1]).index_add(0, owner, x)
        return self.head(pooled).squeeze(1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    molecules = make_molecules(1536)
    model = Gin().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(48):
        x, edges, owner, y = make_batch(molecules[step * 32 : step * 32 + 32], device)
        loss = nn.functional.l1_loss(model(x, edges, owner, 32), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "mae", loss.item())


if __name__ == "__main__":
    main()
