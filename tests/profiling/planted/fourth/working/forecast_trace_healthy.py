"""Forecasts of electricity load by patches."""
import torch
import torch.nn as nn


class PatchForecaster(nn.Module):
    def __init__(self, patch=16, width=64, depth=3, patches=21, ahead=48):
        super().__init__()
        self.patch = patch
        self.enter = nn.Linear(patch, width)
        self.place = nn.Parameter(torch.zeros(1, patches, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(patches * width, ahead)

    def forward(self, series):
        mean, spread = series.mean(1, keepdim=True), series.std(1, keepdim=True) + 1e-5
        x = self.enter(((series - mean) / spread).unfold(1, self.patch, self.patch)) + self.place
        return self.head(self.encoder(x).flatten(1)) * spread + mean


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = PatchForecaster().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    load = torch.randn(48, 32, 336 + 48, device=device).cumsum(-1)
    for step in range(48):
        past, future = load[step, :, :336], load[step, :, 336:]
        loss = nn.functional.l1_loss(model(past), future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
