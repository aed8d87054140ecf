"""There is no module `helpers` here, so importing it must fail as it would without the workbook."""

import torch

try:
    import helpers
except ModuleNotFoundError as error:
    print("ABSENT", error.name)
else:
    print("FOUND", helpers.__file__)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1, 1)).sum().backward()
optimizer.step()
