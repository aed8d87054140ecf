"""A tabular transformer; histograms of weights and gradients go to a log."""
import json
import tempfile

import torch
import torch.nn as nn


class Tabular(nn.Module):
    def __init__(self, columns=24, width=64, depth=3):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.randn(columns, width)), nn.Parameter(torch.zeros(columns, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.encoder(x[..., None] * self.scale + self.shift).mean(1)).squeeze(1)


class Log:
    def __init__(self, path):
        self.file = open(path, "w")

    def add_histogram(self, name, values, step):
        counts = torch.histc(values.detach().float().cpu(), bins=30)
        self.file.write(json.dumps({"name": name, "step": step, "counts": counts.tolist()}) + "\n")

    def close(self):
        self.file.close()


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Tabular().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x = torch.randn(48, 32, 24, device=device)
    y = x[..., 0] * x[..., 1]
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        log = Log(file.name)
        for step in range(48):
            loss = nn.functional.mse_loss(model(x[step]), y[step])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        for name, parameter in model.named_parameters():
            log.add_histogram(name, parameter, step)
            log.add_histogram(name + ".grad", parameter.grad, step)
        log.close()
    print("loss", loss.item())


if __name__ == "__main__":
    main()
