# --- case
CUDA_VISIBLE_DEVICES=0,1 python 训练.py
^ MIG127.renamed rewrite
# --- after
ASCEND_RT_VISIBLE_DEVICES=0,1 python 训练.py

# --- case
export CUDA_VISIBLE_DEVICES=$1  # 显卡
#      ^ MIG127.renamed rewrite
# --- after
export ASCEND_RT_VISIBLE_DEVICES=$1  # 显卡

# --- case
echo ${CUDA_VISIBLE_DEVICES}
#      ^ MIG127.renamed rewrite
# --- after
echo ${ASCEND_RT_VISIBLE_DEVICES}

# --- case
torchrun t.py --dist-backend 'nccl'  # 选项固定
#                             ^ MIG127.backend auto

# --- case
python t.py --backend=nccl --x
#                     ^ MIG127.backend auto

# --- case
dist_backend="nccl"  # 后端
#             ^ MIG127.backend auto

# --- case
export DIST_BACKEND=nccl
#                   ^ MIG127.backend auto

# --- case
DISTRIBUTED_BACKEND=nccl
#                   ^ MIG127.fixed_choices auto

# --- case
module load gcc/11 cuda/11.7
^ MIG127.toolkit manual

# --- case
python t.py --backend=NCCL --x
#                     ^ MIG127.upper_case manual

# --- case
torchrun pretrain_gpt.py --distributed-backend nccl
#                                              ^ MIG127.fixed_choices auto

# --- case
CUDA_VISIBLE_DEVICES= python 训练.py
^ MIG127.value manual

# --- case
export CUDA_VISIBLE_DEVICES=-1
#      ^ MIG127.value manual

# --- case
export PYTORCH_CUDA_ALLOC_CONF='backend:cudaMallocAsync'
#      ^ MIG127.value manual

# --- case
export PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"; CUDA_VISIBLE_DEVICES="$1,2" python t.py
#      ^ MIG127.renamed rewrite
#                                                          ^ MIG127.renamed rewrite
# --- after
export PYTORCH_NPU_ALLOC_CONF="expandable_segments:True"; ASCEND_RT_VISIBLE_DEVICES="$1,2" python t.py

# --- case
export NCCL_SOCKET_IFNAME=eth0
#      ^ MIG127.nccl_variable manual

# --- case
export NCCL_DEBUG=INFO  # 日志
#      ^ MIG127.nccl_variable advice

# --- case
NCCL_HOME=/usr/local/nccl pip install .  # 编译
^ MIG127.no_effect advice

# --- case
nvidia-smi -L | wc -l
^ MIG127.smi manual

# --- case
docker run --gpus all image bash
#          ^ MIG127.docker manual

# --- case
python -m torch.distributed.launch t.py
#      ^ MIG127.launch advice

# --- case
pip install torch --index-url https://download.pytorch.org/whl/cu121
#                                     ^ MIG127.wheel manual

# --- case
export CUBLAS_WORKSPACE_CONFIG=:4096:8
#      ^ MIG127.no_effect advice

# --- case
nsys profile -o x python t.py
^ MIG127.nvidia_profiler manual

# --- case
msprof-analyze -d ./data -i 1
^ MIG127.analyse manual

# --- case
pip install -U 'flash-attn>=2' \
#               ^ MIG128.library unsupported
  --no-build-isolation

# --- case
conda install pytorch cudatoolkit=11.3 -c pytorch -y
#                     ^ MIG128.toolkit manual

# --- case
python t.py --title '第 # 1' --backend nccl
#                                      ^ MIG127.backend auto

# --- case
torchrun t.py \
  --backend \
  nccl
# ^ MIG127.backend auto

# --- case
#!/bin/bash
#SBATCH --nodes=1 --gres=gpu:a100:4  # 四卡
#                 ^ MIG127.slurm manual
python t.py

# --- case
#SBATCH --gpus-per-node=8
#       ^ MIG127.slurm manual

# --- case
srun -n 1 --gres=gpu:1 python 训练.py
^ MIG127.slurm manual

# --- near miss
# CUDA_VISIBLE_DEVICES=0 旧用法

# --- near miss
export CUDA_DEVICE_MAX_CONNECTIONS=1

# --- near miss
MY_CUDA_VISIBLE_DEVICES=0 python t.py

# --- near miss
export ASCEND_RT_VISIBLE_DEVICES=0

# --- near miss
python t.py --backend gloo  # nccl 不用

# --- near miss
python nccl_test.py --name nccl

# --- near miss
torchrun --nproc_per_node=8 训练.py

# --- near miss
python -m torch.distributed.run t.py --rdzv_backend c10d

# --- near miss
backend=gloo
module load python/3.10 my-cuda
module list cuda

# --- near miss
python t.py --backend nccl-tests

# --- near miss
python train.py --gpus 2

# --- near miss
echo done

# --- near miss
#SBATCH --nodes=2 --partition=gpu

# --- near miss
##SBATCH --gres=gpu:4 旧设置

# --- near miss
#SBATCH --gres=npu:8

# --- near miss
srun python train.py --gpus 2

# --- near miss
msprof-analyze advisor all -d ./data

# --- near miss
./my-nvidia-smi.sh

# --- near miss
pip install -r requirements-apex.txt transformers

# --- near miss
pip install flash-attn-npu && echo apex

# --- near miss
echo "a # b"  # pip install apex
