# --- case
x = x.pin_memory().to(d, non_blocking=True)  # 锁页
#   ^ MIG117.patched auto

# --- near miss: an option, and a method of the file's own
from torch.utils.data import DataLoader
def pin_memory(self):
    return self
l = DataLoader(d, pin_memory=True)  # 锁页
f = l.pin_memory
