# DCGAN, one file, after the tutorial
import os
import tempfile
import time
import torch
import torch.nn as nn
import torch.optim as optim

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
nz, ngf, ndf, batch_size, num_steps = 100, 32, 32, 8, 10
out_dir = tempfile.mkdtemp()


def weights_init(m):
    name = m.__class__.__name__
    if name.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif name.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


netG = nn.Sequential(
    nn.ConvTranspose2d(nz, ngf * 8, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 8), nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 8, ngf * 4, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf * 4), nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
    nn.ConvTranspose2d(ngf * 2, 3, 4, 2, 1, bias=False), nn.Tanh()).to(device)
netD = nn.Sequential(
    nn.Conv2d(3, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf * 2, ndf * 8, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 8), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(ndf * 8, 1, 4, 1, 0, bias=False)).to(device)
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCEWithLogitsLoss()
optD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
dataset = torch.rand(512, 3, 32, 32) * 2 - 1


def save(step):
    torch.save({"g": netG.state_dict(), "d": netD.state_dict(), "og": optG.state_dict(), "od": optD.state_dict(), "step": step},
               os.path.join(out_dir, "state.pt"))


start = time.perf_counter()
for i in range(num_steps):
    real = dataset[torch.randint(0, 512, (batch_size,))].to(device)
    ones, zeros = torch.ones(batch_size, device=device), torch.zeros(batch_size, device=device)
    netD.zero_grad()
    errD_real = criterion(netD(real).view(-1), ones)
    noise = torch.randn(batch_size, nz, 1, 1, device=device)
    fake = netG(noise)
    errD_fake = criterion(netD(fake.detach()).view(-1), zeros)
    (errD_real + errD_fake).backward()
    optD.step()
    netG.zero_grad()
    errG = criterion(netD(fake).view(-1), ones)
    errG.backward()
    optG.step()
print("D %.4f G %.4f" % ((errD_real + errD_fake).item(), errG.item()))
print(f"steps_seconds={time.perf_counter() - start:.4f}")
