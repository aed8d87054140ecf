# --- case
import torch
x = x.type('torch.cuda.FloatTensor')  # 类型
#   ^ MIG122.by_string rewrite
# --- after
import torch
x = x.type(torch.cuda.FloatTensor)  # 类型

# --- case
import torch
torch.set_default_tensor_type('torch.cuda.FloatTensor')
^ MIG122.default manual

# --- case
import torch
x = x.type('torch.cuda.DoubleTensor')
#   ^ MIG122.default manual

# --- case
import torch
torch.set_default_tensor_type(torch.cuda.HalfTensor)
^ MIG122.default manual

# --- case
import torch
ok = x.type() == 'torch.cuda.FloatTensor'
#    ^ MIG122.asked manual

# --- near miss
print('torch.cuda.FloatTensor')

# --- near miss
import torch
torch.set_default_tensor_type(torch.HalfTensor)

# --- near miss: a type of the host's, by string
x = x.type('torch.FloatTensor')  # 类型
print('torch.cuda.FloatTensor')

# --- near miss: a class
import torch
x = x.type(torch.cuda.FloatTensor)
torch.set_default_tensor_type(torch.FloatTensor)

# --- near miss: a comparison with a type of the host's
log('torch.cuda.FloatTensor')
ok = x.type() in ('torch.FloatTensor', 'torch.cuda')
