# --- case
import subprocess
subprocess.run(['nvidia-smi'])  # 显存
#               ^ MIG123.tool manual

# --- case
import os
os.system('nvidia-smi -L')
#         ^ MIG123.tool manual

# --- near miss
print('请运行 nvidia-smi')

# --- near miss
import subprocess
subprocess.run(['ls'])
