"""A time series transformer; its speed is told in floating point operations."""
import torch
import torch.nn as nn
from torch.utils.flop_counter import FlopCounterMode


class Forecaster(nn.Module):
    def __init__(self, channels=8, width=64, depth=3, ahead=12):
        super().__init__()
        self.enter = nn.Linear(channels, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.leave = nn.Linear(width, ahead)

    def forward(self, x):
        return self.leave(self.encoder(self.enter(x))[:, -1])


def train_step(model, optimizer, x, y):
    loss = nn.functional.l1_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Forecaster().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(8, 16, 48, 8, device=device), torch.randn(8, 16, 12, device=device)
    operations = 0
    for step in range(48):
        with FlopCounterMode(display=False) as counter:
            loss = train_step(model, optimizer, x[step % 8], y[step % 8])
        operations += counter.get_total_flops()
        if step % 24 == 23:
            print("step", step, "loss", loss.item(), "operations", operations)


if __name__ == "__main__":
    main()
