# --- case
import torch
import mindspeed.megatron_adaptor  # 适配
^ MIG332.capability advice

# --- near miss: it is answered
import torch
import mindspeed.megatron_adaptor

torch.cuda.get_device_capability = lambda device=None: (9, 0)  # 计算能力

# --- near miss
import mindspeed.core  # 其他

# --- case
import torch
import mindspeed.megatron_adaptor
^ MIG332.capability advice

能力 = torch.cuda.get_device_capability  # 只是读取
