"""Two optimisers in one iteration."""

import torch

torch.manual_seed(0)
generator, critic = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
of_critic = torch.optim.Adam(critic.parameters(), lr=0.02)
of_generator = torch.optim.SGD(generator.parameters(), lr=0.01)
for _ in range(3):
    real, fake = torch.randn(8, 4), generator(torch.randn(8, 2))
    loss_c = critic(fake.detach()).mean() - critic(real).mean()
    of_critic.zero_grad()
    loss_c.backward()
    of_critic.step()
    loss_g = -critic(fake).mean()
    of_generator.zero_grad()
    loss_g.backward()
    of_generator.step()
    print(f"critic {loss_c.item():.8f} generator {loss_g.item():.8f}")
