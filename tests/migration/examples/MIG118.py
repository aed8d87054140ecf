# --- case
import torch
@torch.jit.script
#^ MIG118.disabled advice
def f(x):
    return x  # 脚本

# --- case
from torch import jit
g = jit.script(f)
#   ^ MIG118.disabled advice

# --- case
import torch
s = torch.jit.script(m)
#   ^ MIG118.disabled advice
s.save('模型.pt')
^ MIG118.needs_script manual

# --- case
import torch
s = torch.jit.freeze(torch.jit.script(m))
#   ^ MIG118.needs_script manual
#                    ^ MIG118.disabled advice

# --- near miss
import torch
图 = torch.jit.trace(f, x)
图.save('m.pt')

# --- near miss
import torch
s = make()
torch.jit.save(s, 'm.pt')

# --- near miss: a function of the file's own
import torch
script(f)
torch.jit.trace(f, x)

# --- case: saved is another module
import torch
s = torch.jit.script(f)
#   ^ MIG118.disabled advice
unknown.save('m.pt')
m = make()
m.save('m.pt')  # 普通模块

# --- case: a method that any module has
import torch
s = torch.jit.script(f)
#   ^ MIG118.disabled advice
s.eval()
