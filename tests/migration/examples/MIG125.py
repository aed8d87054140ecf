# --- case
from torch.cuda import *  # 全部
^ MIG125.not_followed not_looked

# --- near miss
from math import *  # 全部

# --- near miss: names that are said, and a star of another library's
from torch.cuda import amp
from math import *
