# --- case
import torch
torch.use_deterministic_algorithms(True)  # 可复现
^ MIG132.collectives advice

# --- case
from pytorch_lightning import seed_everything
seed_everything(1)
^ MIG132.seed advice

# --- near miss
import torch
torch.manual_seed(1)  # 种子

# --- near miss
import torch
def set_seed(s):
    torch.manual_seed(s)
set_seed(1)

# --- near miss
import torch
print(torch.are_deterministic_algorithms_enabled())
