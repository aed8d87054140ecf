"""Two micro-batches an update, made by the script: its own optimizer, its own data, or functional gradients."""

import sys

import torch


class Descent:
    def __init__(self, parameters):
        self.parameters = list(parameters)

    @torch.no_grad()
    def step(self):
        for parameter in self.parameters:
            parameter.sub_(parameter.grad, alpha=0.1)
            parameter.grad = None


def change_data(model, gradients):
    for parameter, gradient in zip(model.parameters(), gradients):
        parameter.data -= 0.1 * gradient


torch.manual_seed(0)
how = sys.argv[1]
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = Descent(model.parameters())
x = torch.randn(32, 4)
y = x.sum(dim=1, keepdim=True)
for _ in range(6):
    total = 0.0
    for part in (slice(0, 16), slice(16, 32)) if how != "functional" else (slice(0, 32),):
        loss = torch.nn.functional.mse_loss(model(x[part]), y[part])
        if how == "functional":
            gradients = torch.autograd.grad(outputs=loss, inputs=model.parameters())
        else:
            loss.backward()
        total += loss.item() / (1 if how == "functional" else 2)
    if how == "class":
        optimizer.step()
    elif how == "data":
        change_data(model, [parameter.grad for parameter in model.parameters()])
        for parameter in model.parameters():
            parameter.grad.data.zero_()
    else:
        change_data(model, gradients)
    print(f"mean {total:.8f}")
