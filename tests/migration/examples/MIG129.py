# --- case
from torch_npu.contrib.transfer_to_npu import get_npu_device  # 旧教程
^ MIG129.gone manual

# --- case
import torch_npu
p = torch_npu.profiler.Profiler()
#   ^ MIG129.gone manual

# --- case
import torch_npu.profiler as tp
c = tp.ExperimentalConfig()
#   ^ MIG129.gone manual

# --- case
from ptdbg_ascend import PrecisionDebugger
^ MIG129.gone manual

# --- case
import ascend_op
^ MIG129.gone manual

# --- case
from msprobe.pytorch import ApiProfiler
^ MIG129.gone manual

# --- case
import os
os.environ['MSPROBE_PATH'] = '/opt'
#          ^ MIG129.gone manual

# --- case
import torch_npu
from torch_npu.hooks import set_dump_path
^ MIG129.gone manual

# --- near miss
import torch_npu
p = torch_npu.profiler.profile()

# --- near miss
import torch_npu
c = torch_npu.profiler._ExperimentalConfig()

# --- case
import os
路径 = os.getenv('MSPROBE_PATH')
#                ^ MIG129.gone manual

# --- near miss
print('MSPROBE_PATH')

# --- near miss: today's names
from torch_npu.contrib import transfer_to_npu  # 今天的写法
from msprobe.pytorch import PrecisionDebugger
d = transfer_to_npu.wrap

# --- near miss: a class of the file's own
from mine import ascend_op
class Profiler:
    pass
p = ascend_op.Profiler()

# --- near miss: a text of that name
路 = 'MSPROBE_PATH'
