"""A recurrent network for machine readings, in a trainer that notes how busy the host is."""
import json
import tempfile

import psutil
import torch
import torch.nn as nn


class Network(nn.Module):
    def __init__(self, channels=12, width=96):
        super().__init__()
        self.rnn = nn.LSTM(channels, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1]).squeeze(1)


class Watch:
    """Writes what the host was doing to a file."""

    def __init__(self, path):
        self.file = open(path, "w")
        psutil.cpu_percent()

    def note(self, step):
        row = {"step": step, "cpu": psutil.cpu_percent(), "memory": psutil.virtual_memory().percent}
        self.file.write(json.dumps(row) + "\n")


class Trainer:
    def __init__(self, model, optimizer, watch):
        self.model, self.optimizer, self.watch = model, optimizer, watch

    def training_step(self, x, y):
        return nn.functional.mse_loss(self.model(x), y)

    def fit(self, batches):
        for step, (x, y) in enumerate(batches):
            loss = self.training_step(x, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 24 == 23:
                self.watch.note(step)
                print("step", step, "loss", loss.item())


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = Network().to(device)
    x = torch.randn(48, 32, 20, 12, device=device)
    y = x.mean((2, 3))
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        trainer = Trainer(model, torch.optim.Adam(model.parameters(), lr=1e-3), Watch(file.name))
        trainer.fit(zip(x, y))


if __name__ == "__main__":
    main()
