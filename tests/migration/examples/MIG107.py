# --- case
import os
os.environ['CUDA_VISIBLE_DEVICES'] = '0'  # 只用一张卡
#          ^ MIG107.renamed rewrite
# --- after
import os
os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0'  # 只用一张卡

# --- case
import os
卡 = os.getenv("CUDA_VISIBLE_DEVICES", '0')
#              ^ MIG107.renamed rewrite
# --- after
import os
卡 = os.getenv("ASCEND_RT_VISIBLE_DEVICES", '0')

# --- case
from os import environ
environ.setdefault('CUDA_LAUNCH_BLOCKING', '1')
#                  ^ MIG107.renamed rewrite
# --- after
from os import environ
environ.setdefault('ASCEND_LAUNCH_BLOCKING', '1')

# --- case
import os
os.environ['CUBLAS_WORKSPACE_CONFIG'] = ':4096:8'
#          ^ MIG107.no_effect advice

# --- case
import os
os.environ['NCCL_IB_DISABLE'] = '1'
#          ^ MIG107.nccl advice

# --- case
import os
e = {**os.environ, 'CUDA_VISIBLE_DEVICES': '0'}
#                  ^ MIG107.renamed rewrite
# --- after
import os
e = {**os.environ, 'ASCEND_RT_VISIBLE_DEVICES': '0'}

# --- case
import os
e = dict(os.environ, CUDA_VISIBLE_DEVICES='0')
#                    ^ MIG107.renamed rewrite
# --- after
import os
e = dict(os.environ, ASCEND_RT_VISIBLE_DEVICES='0')

# --- case
import os
os.system('CUDA_VISIBLE_DEVICES=1 python 训练.py')
#         ^ MIG107.renamed rewrite
# --- after
import os
os.system('ASCEND_RT_VISIBLE_DEVICES=1 python 训练.py')

# --- case
import os
os.environ.update({'NCCL_DEBUG': 'INFO'})
#                  ^ MIG107.nccl advice

# --- case
import os
有 = os.environ.get('TORCH_NCCL_BLOCKING_WAIT')
#                   ^ MIG107.nccl advice

# --- case
import os
dirs = os.getenv('NCCL_INCLUDE_DIRS')
#                ^ MIG107.no_effect advice

# --- case
import os
os.environ['NCCL_SOCKET_IFNAME'] = 'eth0'
#          ^ MIG107.nccl manual

# --- case
import os
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'backend:cudaMallocAsync'
#          ^ MIG107.value manual

# --- case
import os
os.environ.setdefault('PYTORCH_CUDA_ALLOC_CONF', 'expandable_segments:True,max_split_size_mb:64')
#                     ^ MIG107.value manual

# --- case
import os
os.environ['CUDA_VISIBLE_DEVICES'] = '-1'  # 不用显卡
#          ^ MIG107.value manual

# --- case
import os
e = dict(os.environ, CUDA_VISIBLE_DEVICES='')
#                    ^ MIG107.value manual

# --- case
import os
os.putenv('CUDA_VISIBLE_DEVICES', 'MIG-GPU-abc')
#         ^ MIG107.value manual

# --- case
import os
os.system('CUDA_VISIBLE_DEVICES="" python t.py')
#         ^ MIG107.value manual

# --- case
import os
k = 'CUDA_VISIBLE_DEVICES'
os.environ[k] = '0'
#          ^ MIG107.renamed manual

# --- case
import os
os.environ['PYTORCH_CUDA_ALLOC_CONF'] = 'max_split_size_mb:64,garbage_collection_threshold:0.8'
#          ^ MIG107.renamed rewrite
# --- after
import os
os.environ['PYTORCH_NPU_ALLOC_CONF'] = 'max_split_size_mb:64,garbage_collection_threshold:0.8'

# --- case
import os
os.environ['CUDA_VISIBLE_DEVICES'] = str(卡)
#          ^ MIG107.renamed rewrite
# --- after
import os
os.environ['ASCEND_RT_VISIBLE_DEVICES'] = str(卡)

# --- case
import os
os.system('CUDA_LAUNCH_BLOCKING=1 CUDA_VISIBLE_DEVICES=0,1 python t.py')
#         ^ MIG107.renamed rewrite
#         ^ MIG107.renamed rewrite
# --- after
import os
os.system('ASCEND_LAUNCH_BLOCKING=1 ASCEND_RT_VISIBLE_DEVICES=0,1 python t.py')

# --- case
import os
os.system(f'cd a\nCUDA_VISIBLE_DEVICES={n} python t.py')
#         ^ MIG107.renamed rewrite
# --- after
import os
os.system(f'cd a\nASCEND_RT_VISIBLE_DEVICES={n} python t.py')

# --- case
import os
os.system('export CUDA_VISIBLE_DEVICES=' + 卡 + ' && CUDA_VISIBLE_DEVICES=%s python t.py' % n)
#         ^ MIG107.renamed rewrite
#                                               ^ MIG107.renamed rewrite
# --- after
import os
os.system('export ASCEND_RT_VISIBLE_DEVICES=' + 卡 + ' && ASCEND_RT_VISIBLE_DEVICES=%s python t.py' % n)

# --- case
import os
env = os.environ.copy()
env |= {'CUDA_VISIBLE_DEVICES': '0'}
#       ^ MIG107.renamed rewrite
# --- after
import os
env = os.environ.copy()
env |= {'ASCEND_RT_VISIBLE_DEVICES': '0'}

# --- case
import os
e = os.environ | {'CUDA_VISIBLE_DEVICES': '0'}
#                 ^ MIG107.renamed rewrite
# --- after
import os
e = os.environ | {'ASCEND_RT_VISIBLE_DEVICES': '0'}

# --- near miss
print('请设置 CUDA_VISIBLE_DEVICES')

# --- near miss
import os
os.environ['CUDA_DEVICE_MAX_CONNECTIONS'] = '1'

# --- near miss
import os
os.environ['MY_CUDA_VISIBLE_DEVICES'] = '1'

# --- near miss
d = {}
d['CUDA_VISIBLE_DEVICES'] = 1

# --- near miss
d = {'CUDA_VISIBLE_DEVICES': 1}
print('CUDA_VISIBLE_DEVICES=0')

# --- near miss
import os
os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0'

# --- near miss
import os
os.system('MY_CUDA_VISIBLE_DEVICES=0 python 训练.py --CUDA_VISIBLE_DEVICES=0')

# --- near miss
import os
k = 'HOME'
print(os.environ[k], 'CUDA')
d |= {'CUDA_VISIBLE_DEVICES': '0'}

# --- near miss: an argument that is no variable
def run(**options):
    pass
run(CUDA_VISIBLE_DEVICES='0')

# --- near miss: a variable's name that is no word in capitals
import os
keep = 'ASCEND_HOME'
name = 'home'  # 目录
os.environ[name] = keep

# --- case: a variable behind a placeholder
import os
os.system(f'HOME={folder} CUDA_VISIBLE_DEVICES={n} python t.py')
#         ^ MIG107.renamed rewrite
# --- after
import os
os.system(f'HOME={folder} ASCEND_RT_VISIBLE_DEVICES={n} python t.py')

# --- near miss: joined to what is not the environment
d = {**options, 'CUDA_VISIBLE_DEVICES': '0'}  # 选项
