"""Predict machine wear from vibration: a temporal convolution network with layer norms."""
import torch
import torch.nn as nn


class Stage(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, 3, padding=dilation, dilation=dilation, groups=channels)
        self.mix = nn.Conv1d(channels, channels, 1)
        self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)

    def forward(self, x):  # batch, time, channels
        h = self.conv(x.transpose(1, 2).contiguous()).transpose(1, 2).contiguous()
        h = torch.relu(self.norm1(h))
        h = self.mix(h.transpose(1, 2).contiguous()).transpose(1, 2).contiguous()
        return x + self.norm2(h)


class Wear(nn.Module):
    def __init__(self, sensors=8, channels=48):
        super().__init__()
        self.inlet = nn.Conv1d(sensors, channels, 5, padding=2)
        self.stages = nn.Sequential(*[Stage(channels, 2**k) for k in range(4)])
        self.head = nn.Linear(channels, 1)

    def forward(self, x):
        x = self.inlet(x.transpose(1, 2).contiguous()).transpose(1, 2).contiguous()
        return self.head(self.stages(x).mean(1)).squeeze(1)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Wear().to(device)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    signal, wear = torch.randn(64, 512, 8, device=device), torch.rand(64, device=device)
    for step in range(40):
        at = step % 4 * 16
        loss = nn.functional.mse_loss(model(signal[at : at + 16]), wear[at : at + 16])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
