import time
import torch
from torch import nn
import torch.nn.functional as F

try:
    import torch_npu
    place = "npu:0"
except ImportError:
    place = "cpu"


class SkipGram(nn.Module):
    def __init__(self, vocab=5000, dim=128):
        super().__init__()
        self.inp, self.out = nn.Embedding(vocab, dim), nn.Embedding(vocab, dim)

    def forward(self, centre, context, negative):
        c = self.inp(centre)
        good = F.logsigmoid((c * self.out(context)).sum(1))
        bad = F.logsigmoid(-(self.out(negative) @ c.unsqueeze(2)).squeeze(2)).sum(1)
        return -(good + bad).mean()


def main():
    torch.manual_seed(0)
    net = SkipGram().to(place)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    pairs = torch.randint(0, 5000, (15, 2048, 2)).to(place)
    t = time.perf_counter()
    for batch in pairs:
        negative = torch.randint(0, 5000, (2048, 8), device=place)
        loss = net(batch[:, 0], batch[:, 1], negative)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
    print(loss.item())
    print(f"steps_seconds={time.perf_counter() - t:.4f}")


main()
