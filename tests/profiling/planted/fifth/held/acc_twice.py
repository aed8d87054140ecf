"""A vision transformer on small pictures, trained in a loop of accelerate that keeps a running accuracy."""
import torch
import torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


class Vit(nn.Module):
    def __init__(self, size=32, patch=8, width=96, depth=3, classes=10):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.positions = nn.Parameter(torch.zeros(1, (size // patch) ** 2, width))
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, images):
        tokens = self.patches(images).flatten(2).transpose(1, 2) + self.positions
        return self.head(self.encoder(tokens).mean(1))


def accuracy(model, images, labels):
    return (model(images).argmax(-1) == labels).float().mean()


def main():
    torch.manual_seed(0)
    accelerator = Accelerator()
    dataset = TensorDataset(torch.randn(1536, 3, 32, 32), torch.randint(0, 10, (1536,)))
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    model = Vit()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    running = torch.zeros((), device=accelerator.device)
    for step, (images, labels) in enumerate(loader):
        logits = model(images)
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        running = 0.9 * running + 0.1 * accuracy(model, images, labels).detach()
        if step % 24 == 23:
            accelerator.print("step", step, "loss", loss.item(), "accuracy", running.item())


if __name__ == "__main__":
    main()
