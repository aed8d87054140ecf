# --- case
import pynvml
pynvml.nvmlInit()  # 显存
^ MIG135.nvml unsupported

# --- case
from pynvml import nvmlDeviceGetHandleByIndex as get
h = get(0)
#   ^ MIG135.nvml unsupported

# --- case
import nvtx
with nvtx.annotate('前向'):
#    ^ MIG135.nvtx manual
    pass

# --- near miss
from mine import nvtx
nvtx.mark('前向')

# --- near miss
import os
def nvmlInit():
    os.getpid()
nvmlInit()

# --- near miss: only imported
import pynvml  # 只导入
import os
print(pynvml.__name__, os.getpid())
