# --- case
import torch
m = m.to(memory_format=torch.channels_last)  # 布局
#                      ^ MIG116.layout rewrite
# --- after
import torch
m = m.to(memory_format=torch.contiguous_format)  # 布局

# --- case
import torch
layout = torch.channels_last_3d if nhwc else torch.contiguous_format
#        ^ MIG116.layout rewrite
# --- after
import torch
layout = torch.contiguous_format if nhwc else torch.contiguous_format

# --- case
from torch import channels_last
m = m.to(memory_format=channels_last)
#                      ^ MIG116.layout manual

# --- case
import torch
if x.is_contiguous(memory_format=torch.channels_last):
#                                ^ MIG116.asked advice
    pass

# --- case
import torch
nhwc = layout == torch.channels_last
#                ^ MIG116.asked advice

# --- near miss
import torch
m = m.to(memory_format=torch.contiguous_format)  # 布局

# --- near miss
channels_last = True

# --- near miss: only imported
from torch import channels_last
print(x.layout)
