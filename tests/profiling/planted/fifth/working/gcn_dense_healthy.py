"""A graph convolutional network over one citation graph of 1,600 papers."""
import torch
import torch.nn as nn


class Convolution(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.linear = nn.Linear(inside, outside)

    def forward(self, x, graph):
        sources, targets, weights = graph
        x = self.linear(x)
        return torch.zeros_like(x).index_add(0, targets, x[sources] * weights[:, None])


class Network(nn.Module):
    def __init__(self, features=64, width=64, classes=7):
        super().__init__()
        self.first, self.second = Convolution(features, width), Convolution(width, width)
        self.third = Convolution(width, classes)

    def forward(self, x, graph):
        x = torch.relu(self.first(x, graph))
        x = torch.relu(self.second(x, graph))
        return self.third(x, graph)


def read_graph(nodes, edges):
    """Return the citations with a loop at each paper, weighted by degree."""
    sources = torch.cat([torch.randint(0, nodes, (edges,)), torch.arange(nodes)])
    targets = torch.cat([torch.randint(0, nodes, (edges,)), torch.arange(nodes)])
    degree = torch.bincount(targets, minlength=nodes).float()
    return sources, targets, (degree[sources].clamp(min=1) * degree[targets]).rsqrt()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    nodes = 1600
    sources, targets, weights = read_graph(nodes, 4800)
    graph = sources.to(device), targets.to(device), weights.to(device)
    x = torch.randn(nodes, 64, device=device)
    labels = torch.randint(0, 7, (nodes,), device=device)
    model = Network().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(48):
        loss = nn.functional.cross_entropy(model(x, graph)[:320], labels[:320])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 24 == 23:
            print("epoch", epoch, "loss", loss.item())


if __name__ == "__main__":
    main()
