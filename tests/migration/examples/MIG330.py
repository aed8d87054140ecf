# --- case
import torch
from functools import partial
from megatron.core import mpu
^ MIG330.adaptor rewrite
from megatron.training import pretrain  # 预训练

if __name__ == "__main__":
    pretrain(mpu)
# --- after
import torch
import mindspeed.megatron_adaptor
from functools import partial
from megatron.core import mpu
from megatron.training import pretrain  # 预训练

if __name__ == "__main__":
    pretrain(mpu)

# --- case
import json; from megatron.core.datasets import indexed_dataset  # 数据
#            ^ MIG330.adaptor rewrite
import torch

if __name__ == '__main__':
    main()
# --- after
import json; import mindspeed.megatron_adaptor; from megatron.core.datasets import indexed_dataset  # 数据
import torch

if __name__ == '__main__':
    main()

# --- near miss: a module, not a script
import torch
from megatron.core import mpu

def 层():
    return mpu

# --- near miss: GPT-NeoX has a megatron of its own, without a core
import torch
from megatron.training import pretrain

if __name__ == "__main__":
    pretrain(配置)

# --- near miss
import torch
import mindspeed.megatron_adaptor
from megatron.core import mpu

if __name__ == "__main__":
    训练(mpu)
