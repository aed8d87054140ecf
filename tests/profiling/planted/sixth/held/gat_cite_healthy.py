"""Graph attention over a small net of papers."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphAttention(nn.Module):
    def __init__(self, inside, outside, alpha=0.2, concat=True):
        super().__init__()
        self.W = nn.Parameter(torch.empty(inside, outside))
        self.a = nn.Parameter(torch.empty(2 * outside, 1))
        nn.init.xavier_uniform_(self.W, gain=1.414)
        nn.init.xavier_uniform_(self.a, gain=1.414)
        self.outside, self.concat, self.alpha = outside, concat, alpha

    def scores(self, h):
        left = h @ self.a[: self.outside]
        right = h @ self.a[self.outside :]
        return F.leaky_relu(left + right.T, self.alpha)

    def forward(self, x, adj):
        h = x @ self.W
        e = self.scores(h)
        att = torch.where(adj, e, torch.full_like(e, -9e15)).softmax(1)
        out = att @ h
        return F.elu(out) if self.concat else out


class GAT(nn.Module):
    def __init__(self, features, hidden=8, classes=7, heads=4):
        super().__init__()
        self.heads = nn.ModuleList(GraphAttention(features, hidden) for _ in range(heads))
        self.last = GraphAttention(hidden * heads, classes, concat=False)

    def forward(self, x, adj):
        x = torch.cat([head(x, adj) for head in self.heads], 1)
        return F.log_softmax(self.last(x, adj), 1)


def load(nodes=160, features=64):
    x = torch.rand(nodes, features)
    adj = torch.rand(nodes, nodes) < 0.04
    adj = adj | adj.T | torch.eye(nodes, dtype=torch.bool)
    return x, adj, torch.randint(0, 7, (nodes,))


def train(epoch, model, optimizer, x, adj, y):
    model.train()
    optimizer.zero_grad()
    out = model(x, adj)
    loss = F.nll_loss(out[:60], y[:60])
    loss.backward()
    optimizer.step()
    if epoch % 24 == 23:
        print(f"Epoch: {epoch + 1:04d} loss_train: {loss.item():.4f}")


if __name__ == "__main__":
    torch.manual_seed(72)
    x, adj, y = (t.cuda() for t in load())
    model = GAT(x.shape[1]).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
    for epoch in range(48):
        train(epoch, model, optimizer, x, adj, y)
