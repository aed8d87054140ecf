"""A convolutional classifier whose pictures are flipped, shifted and brightened on the device."""
import torch
import torch.nn as nn


def augment(images):
    changed = []
    for image in images:
        if torch.rand(()) < 0.5:
            image = image.flip(-1)
        across, down = torch.randint(-3, 4, (2,)).tolist()
        image = torch.roll(image, (down, across), (1, 2))
        image = image * (0.8 + 0.4 * torch.rand(()).item())
        changed.append((image - image.mean()) / (image.std() + 1e-5))
    return torch.stack(changed)


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
