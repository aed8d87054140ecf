# --- case
from torch.utils.data import DataLoader
l = DataLoader(数据, num_workers=4, multiprocessing_context='fork')
#   ^ MIG134.fork advice

# --- case
import torch.multiprocessing as mp
mp.set_start_method('fork', force=True)
^ MIG134.fork advice

# --- case
import torch, multiprocessing
multiprocessing.get_context('fork')
^ MIG134.fork advice

# --- near miss
from torch.utils.data import DataLoader
l = DataLoader(数据, num_workers=4)

# --- near miss
import torch.multiprocessing as mp
mp.set_start_method('spawn')

# --- near miss: the word alone
import torch
print('fork')

# --- near miss: no script of torch
import multiprocessing
multiprocessing.get_context('fork')  # 与训练无关
