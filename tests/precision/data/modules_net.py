"""A training script whose modules are called in every odd way: shared, nested, checkpointed, failing, in a wrapper."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x, fails=False):
        x = self.first(x)
        if fails:
            raise ValueError("not this input")
        return self.second(F.relu(x)) + x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(4, 4)
        self.block = Block()
        self.saved = Block()
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = self.shared(torch.tanh(self.shared(x)))
        try:
            self.block(x, fails=True)
        except ValueError:
            x = torch.sigmoid(x)
        x = checkpoint(self.saved, self.block(x), use_reentrant=False)
        return self.head(x)


class Wrapper(nn.Module):
    """As DistributedDataParallel, without a process group."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args):
        return self.module(*args)


model = Wrapper(Net()).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    output = model(torch.randn(5, 4).cuda())
    loss = F.softmax(output, dim=-1).square().mean()
    loss = loss + nn.CrossEntropyLoss()(output, torch.randint(3, (5,)).cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
