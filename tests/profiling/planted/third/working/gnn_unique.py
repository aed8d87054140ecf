"""Node classification: message passing by scatter over an edge list."""
import torch
import torch.nn as nn
import torch.nn.functional as F

NODES, EDGES, FEATURES, CLASSES = 2000, 12000, 64, 7


def normalise(edges, nodes):
    """Drop double edges, add loops, weigh by degree."""
    loops = torch.arange(nodes, device=edges.device).repeat(2, 1)
    code = torch.cat([edges, loops], 1)
    code = torch.unique(code[0] * nodes + code[1])
    edges = torch.stack([code // nodes, code % nodes])
    degree = torch.bincount(edges[1], minlength=nodes).float()
    keep = torch.nonzero(degree[edges[1]] > 0).squeeze(1)
    edges = edges[:, keep]
    scale = degree.clamp(min=1).rsqrt()
    return edges, scale[edges[0]] * scale[edges[1]]


class Conv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.linear = nn.Linear(i, o)

    def forward(self, x, edges):
        edges, weight = normalise(edges, x.size(0))
        x = self.linear(x)
        message = x.index_select(0, edges[0]) * weight[:, None]
        return torch.zeros_like(x).index_add_(0, edges[1], message)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Conv(FEATURES, 32), Conv(32, 32), Conv(32, 32), Conv(32, CLASSES)])

    def forward(self, x, edges):
        for layer in self.layers[:-1]:
            x = F.dropout(F.relu(layer(x, edges)), 0.3, self.training)
        return self.layers[-1](x, edges)


def main(epochs=40):
    torch.manual_seed(0)
    device = torch.device("cuda")
    edges = torch.randint(0, NODES, (2, EDGES), device=device)
    x, y = torch.randn(NODES, FEATURES, device=device), torch.randint(0, CLASSES, (NODES,), device=device)
    model = Net().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for epoch in range(epochs):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, edges), y)
        loss.backward()
        optimizer.step()
    print("loss", float(loss))


if __name__ == "__main__":
    main()
