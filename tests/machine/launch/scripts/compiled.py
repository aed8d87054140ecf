"""A compiled model, called with new shapes between the steps: Dynamo traces it anew while it is observed."""

import torch

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

    def forward(self, x, y=None):
        out = self.body(x)
        return (out, (out - y).pow(2).mean()) if y is not None else (out, None)


plain = Net()
model = torch.compile(plain, backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    model.eval()
    with torch.no_grad():
        model(torch.ones(2 + step, 4))
    model.train()
    _, loss = model(torch.ones(2, 4), torch.zeros(2, 1))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("loss", loss.item())
