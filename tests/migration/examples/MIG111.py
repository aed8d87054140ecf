# --- case
import torch
m = torch.compile(m)  # 编译
#   ^ MIG111.inductor rewrite
# --- after
import torch
m = torch.compile(m, backend="eager")  # 编译

# --- case
import torch
m = torch.compile(m, mode='max-autotune')
#   ^ MIG111.inductor rewrite
# --- after
import torch
m = torch.compile(m, mode='max-autotune', backend="eager")

# --- case
import torch
m = torch.compile(m, backend='inductor')
#   ^ MIG111.inductor rewrite
# --- after
import torch
m = torch.compile(m, backend='eager')

# --- case
import torch
@torch.compile
#^ MIG111.inductor rewrite
def f(x):
    return x
# --- after
import torch
@torch.compile(backend="eager")
def f(x):
    return x

# --- case
import torch
@torch.compile()
#^ MIG111.inductor rewrite
def f(x):
    return x
# --- after
import torch
@torch.compile(backend="eager")
def f(x):
    return x

# --- case
import torch
m = torch.compile(m, backend=args.backend)
#   ^ MIG111.backend manual

# --- case
import torch
m = torch.compile(m, backend='cudagraphs')
#   ^ MIG111.backend manual

# --- case
import torch
f = partial(torch.compile, dynamic=True)
#           ^ MIG111.backend manual

# --- case
import torch
f = torch._dynamo.optimize('inductor')(f)
#   ^ MIG111.backend manual

# --- case
import torch
model.compile(mode='max-autotune')
^ MIG111.backend manual

# --- case
import torch
model.compile()
^ MIG111.backend manual

# --- case
import torch
def 编译(m, backend='inductor'):
#                   ^ MIG111.backend manual
    pass

# --- case
import torch
p.add_argument('--torchcompile', nargs='?', const='inductor')
#                                                 ^ MIG111.backend manual

# --- case
import torch
a = TrainingArguments('out', torch_compile=True)
#   ^ MIG111.backend manual

# --- case
import torch
m = torch.compile(
#   ^ MIG111.inductor rewrite
    m,
)
# --- after
import torch
m = torch.compile(
    m, backend="eager",
)

# --- near miss
import re
p = re.compile('显卡')

# --- near miss
import torch
m = torch.compile(m, backend='eager')

# --- near miss
import torch
print(hasattr(torch, 'compile'))

# --- near miss
code = compile('1', '<s>', 'eval')

# --- near miss
import torch
model.compile(optimizer='adam', loss='mse')

# --- near miss
import torch
import re
pattern = re.compile('a')

# --- near miss
import torch
a = TrainingArguments('out', torch_compile=False)

# --- near miss
import torch
known = {'inductor', 'eager'}
print('inductor')

# --- near miss
import torch
backend = 'eager'
m = torch.compile(m, backend=backend)
