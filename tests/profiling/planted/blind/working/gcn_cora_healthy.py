import argparse
import time
import torch
import torch.nn as nn
import torch.nn.functional as F


def parse():
    p = argparse.ArgumentParser(description="Graph convolution, citation graph")
    p.add_argument("--nodes", type=int, default=400)
    p.add_argument("--degree", type=int, default=8)
    p.add_argument("--features", type=int, default=1433)
    p.add_argument("--hidden", type=int, default=512)
    p.add_argument("--epochs", type=int, default=12)
    return p.parse_args()


class GraphConv(nn.Module):
    def __init__(self, fin, fout):
        super().__init__()
        self.lin = nn.Linear(fin, fout)

    def forward(self, x, src, dst):
        h = self.lin(x)
        return torch.zeros_like(h).index_add_(0, dst, h[src])


class GCN(nn.Module):
    def __init__(self, fin, hidden, classes):
        super().__init__()
        self.one, self.mid, self.two = GraphConv(fin, hidden), nn.Sequential(nn.Linear(hidden, 2 * hidden), nn.ReLU(), nn.Linear(2 * hidden, hidden)), GraphConv(hidden, classes)

    def forward(self, x, src, dst):
        x = F.relu(self.one(x, src, dst))
        x = F.dropout(F.relu(self.mid(x)), 0.5, self.training)
        return self.two(x, src, dst)


def main():
    args = parse()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    g = torch.Generator().manual_seed(0)
    x = torch.rand(args.nodes, args.features, generator=g).to(device)
    dst = torch.arange(args.nodes).repeat_interleave(args.degree).to(device)
    src = torch.randint(0, args.nodes, (args.nodes * args.degree,), generator=g).to(device)
    y = torch.randint(0, 7, (args.nodes,), generator=g).to(device)
    model = GCN(args.features, args.hidden, 7).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    start = time.perf_counter()
    for epoch in range(args.epochs):
        opt.zero_grad()
        loss = F.cross_entropy(model(x, src, dst), y)
        loss.backward()
        opt.step()
    print("loss", loss.item())
    print(f"steps_seconds={time.perf_counter() - start:.4f}")


main()
