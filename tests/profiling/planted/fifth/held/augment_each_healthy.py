"""A convolutional classifier whose pictures are flipped, shifted and brightened on the device."""
import torch
import torch.nn as nn


def augment(images):
    count, _, height, width = images.shape
    device = images.device
    flipped = torch.rand(count, 1, device=device) < 0.5
    columns = (torch.arange(width, device=device) + torch.randint(-3, 4, (count, 1), device=device)) % width
    columns = torch.where(flipped, width - 1 - columns, columns)
    rows = (torch.arange(height, device=device) + torch.randint(-3, 4, (count, 1), device=device)) % height
    picture = torch.arange(count, device=device)[:, None, None]
    images = images.permute(0, 2, 3, 1)[picture, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    images = images * (0.8 + 0.4 * torch.rand(count, 1, 1, 1, device=device))
    return nn.functional.layer_norm(images, images.shape[1:])


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    images = torch.rand(8, 32, 3, 32, 32, device=device)
    labels = torch.randint(0, 10, (8, 32), device=device)
    for step in range(48):
        batch = augment(images[step % 8])
        loss = nn.functional.cross_entropy(model(batch), labels[step % 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 24 == 23:
            print("step", step, "loss", loss.item())


if __name__ == "__main__":
    main()
