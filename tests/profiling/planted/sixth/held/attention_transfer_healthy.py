"""A small student learns the attention maps of a larger teacher."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvNet(nn.Module):
    def __init__(self, widths, classes=10):
        super().__init__()
        ins = [3] + list(widths[:-1])
        self.stages = nn.ModuleList(
            nn.Sequential(nn.Conv2d(i, o, 3, stride=2, padding=1), nn.BatchNorm2d(o), nn.ReLU())
            for i, o in zip(ins, widths)
        )
        self.fc = nn.Linear(widths[-1], classes)

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return self.fc(x.mean((2, 3)))


def attention_map(feature):
    return F.normalize(feature.pow(2).mean(1).flatten(1))


class Distiller:
    def __init__(self, teacher, student, beta=50.0):
        self.teacher, self.student, self.beta = teacher.eval(), student, beta
        self.maps = {}
        for name, model in (("teacher", teacher), ("student", student)):
            for i, stage in enumerate(model.stages):
                stage.register_forward_hook(self.keep(name, i))

    def keep(self, name, i):
        def hook(module, args, output):
            self.maps[name, i] = attention_map(output)
        return hook

    def __call__(self, x, y):
        with torch.no_grad():
            self.teacher(x)
        loss = F.cross_entropy(self.student(x), y)
        for i in range(len(self.student.stages)):
            loss = loss + self.beta * (self.maps["teacher", i] - self.maps["student", i]).pow(2).mean()
        return loss


def main():
    torch.manual_seed(0)
    device = torch.device("cuda")
    teacher, student = ConvNet([32, 64, 64, 128]).to(device), ConvNet([16, 32, 32, 64]).to(device)
    distil = Distiller(teacher, student)
    opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
    images, labels = torch.randn(256, 3, 32, 32, device=device), torch.randint(0, 10, (256,), device=device)
    for step in range(48):
        rows = torch.arange(16, device=device) + 16 * (step % 16)
        loss = distil(images[rows], labels[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 24 == 23:
            print("step", step, "loss", round(loss.item(), 4))


if __name__ == "__main__":
    main()
