"""Predict machine wear from vibration: a temporal convolution network with layer norms."""
import torch
import torch.nn as nn


class Stage(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, 3, padding=dilation, dilation=dilation, groups=channels)
        self.mix = nn.Conv1d(channels, channels, 1)
        self.norm1, self.norm2 = nn.GroupNorm(1, channels), nn.GroupNorm(1, channels)

    def forward(self, x):  # batch, channels, time
        h = torch.relu(self.norm1(self.conv(x)))
        return x + self.norm2(self.mix(h))


class Wear(nn.Module):
    def __init__(self, sensors=8, channels=48):
        super().__init__()
        self.inlet = nn.Conv1d(sensors, channels, 5, padding=2)
        self.stages = nn.Sequential(*[Stage(channels, 2**k) for k in range(4)])
        self.head = nn.Linear(channels, 1)

    def forward(self, x):
        return self.head(self.stages(self.inlet(x)).mean(2)).squeeze(1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Wear().to(device)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    signal, wear = torch.randn(64, 8, 512, device=device), torch.rand(64, device=device)
    for step in range(40):
        at = step % 4 * 16
        loss = nn.functional.mse_loss(model(signal[at : at + 16]), wear[at : at + 16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
