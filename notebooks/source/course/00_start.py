# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 课程 0：会用 CUDA，怎样看懂 NPU
#
# | 时间 | 硬件 | 需要先会 |
# |---|---|---|
# | 阅读 25 分钟，运行约 10 秒 | 任意机器；没有 NPU 时使用模拟 NPU | 用 PyTorch 在 GPU 上训练过模型 |
#
# **学完之后**，你能说出 NPU 由哪些部件组成、一个算子从 Python 到芯片经过哪些层、CUDA 中熟悉的名称在昇腾上叫什么，
# 以及这本工作簿的四个阶段各回答什么问题。最后有八道小题。
#
# 事实都注明公开来源；行文为本课程所写。

# %% [markdown] lang="en"
# # Course 0: an NPU for those who know CUDA
#
# | time | hardware | known before |
# |---|---|---|
# | 25 minutes to read, about 10 s to run | any machine; without an NPU the simulated one | training a model with PyTorch on a GPU |
#
# **Afterwards** you can say what an NPU is made of, which layers an operator passes on its way from Python to the chip,
# what CUDA's familiar names are called on Ascend, and which question each of the workbook's four stages answers. Eight
# short questions come last.
#
# Facts name their public source; the wording is this course's own.

# %% tags=["parameters"]
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "auto"  # auto | npu | npu-simulated | cuda | cpu; npu means a real one / npu 指真实 NPU
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录

# %%
from IPython.display import Markdown

from course.lessons.child import on_device, raised, run_script
from course.lessons.drawings import drawing
from course.lessons.glossary import glossary
from course.lessons.quiz import quiz
from course.lessons.quiz_box import quiz_box
from helpers.devices import find
from helpers.notebook import begin

run = begin("course", lang, run_dir, device)

# %% [markdown] lang="zh"
# ## 芯片：三种计算单元
#
# GPU 的一个 SM 里有 CUDA core 和 Tensor Core，由成千上万个线程驱动。NPU 的计算核叫 **AI Core**，算子通常不按线程编写
# （较新的 CANN 与芯片另外提供 SIMT，见[编程模型](https://www.hiascend.com/document/detail/zh/canncommercial/900/programug/Ascendcopdevg/atlas_ascendc_map_10_0018.html)），
# 而由三种各有指令队列的单元执行：
#
# | 单元 | 做什么 | 大致相当于 GPU 的 |
# |---|---|---|
# | **Cube**（矩阵） | 矩阵块相乘，例如 float16 的 16×16 乘 16×16 | Tensor Core |
# | **Vector**（向量） | 逐元素、按行的计算：激活、softmax、归一化、类型转换 | CUDA core |
# | **Scalar**（标量） | 计算地址、控制循环，把指令发给另外两种单元和搬运单元 | 线程束调度器，加上一点 CPU |
#
# 在 Atlas A2、A3 上，AI Core 又拆成独立的两种核：负责矩阵的 **AIC** 与负责向量的 **AIV**，各有自己的 Scalar 单元，两者通过
# 全局内存交换数据；更早的 Ascend 910 上，三种单元在同一个核里
# （[基本架构](https://www.hiascend.com/document/detail/zh/CANNCommunityEdition/83RC1alpha002/opdevg/Ascendcopdevg/atlas_ascendc_10_0008.html)）。
#
# 不适合 AI Core 的算子（分支多、逻辑复杂）由同一芯片上的 **AI CPU** 执行，慢得多
# （[CANN 算子类型](https://www.hiascend.com/document/detail/en/canncommercial/800/opdevg/tbeaicpudevg/atlasopdev_10_0004.html)）。
# 采集性能数据时，看到某个算子落在 AI CPU 上，就值得追究。

# %% [markdown] lang="en"
# ## The chip: three kinds of computing unit
#
# A GPU's SM has CUDA cores and Tensor Cores, driven by thousands of threads. An NPU's core is called **AI Core**.
# Operators are as a rule not written in threads (recent CANN and chips have SIMT beside this, see the
# [programming models](https://www.hiascend.com/document/detail/zh/canncommercial/900/programug/Ascendcopdevg/atlas_ascendc_map_10_0018.html));
# three kinds of unit do the work, each with a queue of instructions:
#
# | unit | what it does | roughly a GPU's |
# |---|---|---|
# | **Cube** | products of blocks of matrices, such as 16 x 16 by 16 x 16 in float16 | Tensor Core |
# | **Vector** | element by element and along rows: activations, softmax, normalisation, casts | CUDA core |
# | **Scalar** | addresses and loops; it hands instructions to the others and to the units that move data | warp scheduler, and a little CPU |
#
# On Atlas A2 and A3 an AI Core is split into cores of two kinds, **AIC** for matrices and **AIV** for vectors, each with
# a Scalar unit of its own, which exchange data through global memory; on the Ascend 910 before them all three units are
# in one core
# ([basic architecture](https://www.hiascend.com/document/detail/en/canncommercial/850/opdevg/Ascendcopdevg/atlas_ascendc_10_0008.html)).
#
# Operators that do not suit the AI Core (branches, involved logic) run on the **AI CPU** of the same chip, far slower
# ([CANN's operator types](https://www.hiascend.com/document/detail/en/canncommercial/800/opdevg/tbeaicpudevg/atlasopdev_10_0004.html)).
# An operator that a profile shows on the AI CPU is worth a question.

# %%
drawing("core", lang)

# %% [markdown] lang="zh"
# ## 内存：由程序搬运，而不是由缓存猜测
#
# | 层次 | 在哪里 | 谁使用 |
# |---|---|---|
# | 全局内存（HBM） | 芯片上，各核共用 | `tensor.npu()` 的数据就在这里 |
# | L1 Buffer | AIC 内 | 矩阵进入 Cube 之前的暂存 |
# | L0A、L0B、L0C | AIC 内 | Cube 的左矩阵、右矩阵、结果 |
# | Unified Buffer（UB） | AIV 内 | Vector 的全部输入与结果 |
#
# 搬运由专门的单元（MTE、FixPipe）完成，与计算并行
# （[来源](https://www.hiascend.com/document/detail/zh/CANNCommunityEdition/83RC1alpha002/opdevg/Ascendcopdevg/atlas_ascendc_10_0008.html)）。
# 由此得到一个直观判断：算子很小时，时间主要花在下发和搬运上，而不在计算上。

# %% [markdown] lang="en"
# ## Memory: moved by the program, not guessed by a cache
#
# | level | where | who uses it |
# |---|---|---|
# | global memory (HBM) | on the chip, shared by all cores | the data of `tensor.npu()` lie here |
# | L1 buffer | within an AIC | matrices wait here on their way to the Cube |
# | L0A, L0B, L0C | within an AIC | the Cube's left matrix, right matrix, result |
# | Unified Buffer (UB) | within an AIV | all inputs and results of Vector |
#
# Units of their own (MTE, FixPipe) move the data while others compute
# ([source](https://www.hiascend.com/document/detail/en/canncommercial/850/opdevg/Ascendcopdevg/atlas_ascendc_10_0008.html)).
# One consequence to remember: with small operators the time goes into dispatch and moving, not into computing.

# %%
drawing("memory", lang)

# %% [markdown] lang="zh"
# ## 格式：为什么会有 NZ 与 5HD
#
# Cube 一次取一小块。若矩阵按行存放（**ND**），一小块分散在许多行里；**FRACTAL_NZ**（简称 NZ）把每个小块连续存放，
# 图像的 **NC1HWC0**（5HD）则把通道切成长度为 C0 的组
# （[数据排布格式](https://www.hiascend.com/document/detail/en/canncommercial/850/graph/graphdevg/atlas_ascendc_10_0099.html)）。
#
# 对你意味着什么：张量的形状和数值不变，变的只是内存中的排布。性能数据里出现的 `TransData` 就是格式转换；它们多而且耗时时，
# 通常是因为同一份数据在两种格式之间来回转换。

# %% [markdown] lang="en"
# ## Formats: why there are NZ and 5HD
#
# The Cube takes a small block at a time. In a matrix kept row by row (**ND**) a block is scattered over many rows;
# **FRACTAL_NZ**, in short NZ, keeps each block together, and **NC1HWC0** (5HD) cuts an image's channels into groups of
# C0 ([data layout formats](https://www.hiascend.com/document/detail/en/canncommercial/850/graph/graphdevg/atlas_ascendc_10_0099.html)).
#
# What it means to you: shape and values of a tensor stay, its layout in memory differs. `TransData` in a profile is a
# change of format; where there are many and they cost time, the same data usually go to and fro between two formats.

# %% [markdown] lang="zh"
# ## 一个算子的路：Python → 任务队列 → 流 → 设备
#
# 与 CUDA 一样，Python 不等设备算完：算子被放入**流**（stream），设备按顺序执行，`torch.npu.synchronize()` 才会等待。
# 不同的是中间多了一级**任务队列**：`TASK_QUEUE_ENABLE=1`（默认）时，Python 线程只把算子交给队列，由第二个主机线程调用
# CANN（[TASK_QUEUE_ENABLE](https://hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_019.html)）。
# 交互环境例外：torch_npu 发现自己在 Jupyter 内核或交互式 Python 中时，会把它改为 0 并给出警告
# （[实例](https://github.com/vllm-project/vllm-ascend/issues/2210)）。所以本手册总是另起进程运行和测量脚本。
#
# 后果有两个：主机可以跑在设备前面（这是好事）；出错时调用栈常常指向后面某一行（这会骗人）。调试时设
# `ASCEND_LAUNCH_BLOCKING=1`，它会关闭队列，逐个等待，相当于 `CUDA_LAUNCH_BLOCKING=1`。

# %% [markdown] lang="en"
# ## An operator's way: Python, task queue, stream, device
#
# As with CUDA, Python does not wait for the device: operators go into a **stream**, which the device works off in order,
# and `torch.npu.synchronize()` waits. What is new is a **task queue** in between: with `TASK_QUEUE_ENABLE=1`, the
# default, Python's thread hands operators to a queue, and a second host thread calls CANN
# ([TASK_QUEUE_ENABLE](https://hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_019.html)). Within a
# Jupyter kernel or an interactive Python it is otherwise: torch_npu sets it to 0 and warns
# ([an example](https://github.com/vllm-project/vllm-ascend/issues/2210)). This is why scripts are run and measured here
# in processes of their own.
#
# Two consequences: the host can run ahead of the device, which is good; and after an error the traceback often points
# to a later line, which deceives. To debug set `ASCEND_LAUNCH_BLOCKING=1`: it turns the queue off and waits after each
# operator, as `CUDA_LAUNCH_BLOCKING=1` does.

# %%
drawing("queue", lang)

# %% [markdown] lang="zh"
# ## 多卡：HCCL 取代 NCCL
#
# `init_process_group("hccl")` 取代 `"nccl"`，其余 `torch.distributed` 的调用不变。HCCL 提供 AllReduce、AllGather、
# ReduceScatter 等集合通信；同一台机器内走 HCCS 或 PCIe，跨机走 RoCE
# （[HCCL 简介](https://www.hiascend.com/document/detail/en/canncommercial/850/commlib/hcclug/hcclug_000001.html)）；
# A3 超节点内的机器之间默认也走 HCCS
# （[HCCL_INTER_HCCS_DISABLE](https://www.hiascend.com/document/detail/zh/CANNCommunityEdition/900beta2/maintenref/envvar/envref_07_0083.html)）。

# %% [markdown] lang="en"
# ## Several devices: HCCL in NCCL's place
#
# `init_process_group("hccl")` takes the place of `"nccl"`; other calls of `torch.distributed` stay. HCCL offers
# AllReduce, AllGather, ReduceScatter and so on, over HCCS or PCIe within a machine and RoCE between machines
# ([HCCL overview](https://www.hiascend.com/document/detail/en/canncommercial/850/commlib/hcclug/hcclug_000001.html));
# between the machines of an A3 supernode the default is HCCS too
# ([HCCL_INTER_HCCS_DISABLE](https://www.hiascend.com/document/detail/zh/CANNCommunityEdition/900beta2/maintenref/envvar/envref_07_0083.html)).

# %%
drawing("ring", lang)

# %% [markdown] lang="zh"
# ## 软件栈：自下而上四层
#
# | 层 | 相当于 NVIDIA 的 | 用什么查看版本 |
# |---|---|---|
# | 固件（firmware） | GPU 固件 | `/usr/local/Ascend/firmware/version.info` |
# | 驱动（driver） | NVIDIA 驱动 | `npu-smi info`、`/usr/local/Ascend/driver/version.info` |
# | CANN（运行时、算子、编译器、HCCL） | CUDA、cuDNN、cuBLAS、NCCL | CANN 目录中的 `version.cfg` |
# | torch_npu | PyTorch 内置的 CUDA 后端 | `pip show torch_npu` |
#
# 安装时驱动和固件在先，然后是 CANN，最后是 torch_npu。留意前两者：首次安装先驱动、后固件，覆盖安装或升级先固件、后驱动
# （[安装说明](https://www.hiascend.com/document/detail/en/ModelZoo/pytorchframework/ptes/ptes_00003.html)）。
# 上下层必须配套：torch 与 torch_npu 版本一致，torch_npu 又要求一定范围的 CANN。CANN 不会自动生效，启动 Python
# **之前**须在 bash 中 `source set_env.sh`。下一课从一台出错的机器开始：到时请再看一眼这张表。

# %% [markdown] lang="en"
# ## The stack: four layers from below
#
# | layer | NVIDIA's counterpart | where its version is seen |
# |---|---|---|
# | firmware | the GPU's firmware | `/usr/local/Ascend/firmware/version.info` |
# | driver | NVIDIA's driver | `npu-smi info`, `/usr/local/Ascend/driver/version.info` |
# | CANN: runtime, operators, compiler, HCCL | CUDA, cuDNN, cuBLAS, NCCL | `version.cfg` in CANN's folder |
# | torch_npu | the CUDA backend within PyTorch | `pip show torch_npu` |
#
# Driver and firmware are installed first, then CANN, torch_npu last. Mind the first two: the first time it is the driver
# and then the firmware, later and for an upgrade the firmware and then the driver
# ([installation](https://www.hiascend.com/document/detail/en/ModelZoo/pytorchframework/ptes/ptes_00003.html)). All of
# them belong together: torch_npu is of torch's version, and asks for a range of CANN. CANN does not take effect by
# itself: bash has to `source set_env.sh` **before** Python starts. The next lesson begins with a machine that fails:
# this table will be of use there.

# %% [markdown] lang="zh"
# ## 对照表：CUDA 的名称在昇腾上叫什么
#
# | CUDA / PyTorch | 昇腾 | 备注 |
# |---|---|---|
# | `torch.cuda`、`"cuda:0"`、`x.cuda()` | `torch.npu`、`"npu:0"`、`x.npu()` | `transfer_to_npu` 在运行时替换调用 |
# | `x.is_cuda`、`device.type == "cuda"` | `x.is_npu`、`device.type == "npu"` | 字符串比较是静默的陷阱，见课程 2 |
# | `nccl` | `hccl` | 后端名称 |
# | `torch.cuda.amp` | `torch.npu.amp`，或 `torch.amp` 加设备类型 | |
# | TF32 | HF32 | 卷积与矩阵乘输入的舍入方式不同 |
# | cuDNN、cuBLAS | aclnn 算子 | 由 torch_npu 调用 |
# | FlashAttention | `torch_npu.npu_fusion_attention` | 参数不同 |
# | CUDA C++、Triton | Ascend C、triton-ascend | 自定义算子须重写或重新编译 |
# | Tensor Core / CUDA core | Cube / Vector | |
# | NVLink | HCCS | |
# | `nvidia-smi` | `npu-smi info` | |
# | `CUDA_VISIBLE_DEVICES` | `ASCEND_RT_VISIBLE_DEVICES` | |
# | `CUDA_LAUNCH_BLOCKING` | `ASCEND_LAUNCH_BLOCKING` | |
# | `PYTORCH_CUDA_ALLOC_CONF` | `PYTORCH_NPU_ALLOC_CONF` | |
# | `torch.profiler`、Nsight | `torch_npu.profiler`、MindStudio Insight | |
# | NVTX | mstx | |

# %% [markdown] lang="en"
# ## What CUDA's names are called on Ascend
#
# | CUDA / PyTorch | Ascend | remark |
# |---|---|---|
# | `torch.cuda`, `"cuda:0"`, `x.cuda()` | `torch.npu`, `"npu:0"`, `x.npu()` | `transfer_to_npu` replaces calls at run time |
# | `x.is_cuda`, `device.type == "cuda"` | `x.is_npu`, `device.type == "npu"` | comparing strings is a silent trap: course 2 |
# | `nccl` | `hccl` | the backend's name |
# | `torch.cuda.amp` | `torch.npu.amp`, or `torch.amp` with the device type | |
# | TF32 | HF32 | inputs of convolutions and products are rounded differently |
# | cuDNN, cuBLAS | aclnn operators | called by torch_npu |
# | FlashAttention | `torch_npu.npu_fusion_attention` | other arguments |
# | CUDA C++, Triton | Ascend C, triton-ascend | operators of your own are rewritten or compiled anew |
# | Tensor Core / CUDA core | Cube / Vector | |
# | NVLink | HCCS | |
# | `nvidia-smi` | `npu-smi info` | |
# | `CUDA_VISIBLE_DEVICES` | `ASCEND_RT_VISIBLE_DEVICES` | |
# | `CUDA_LAUNCH_BLOCKING` | `ASCEND_LAUNCH_BLOCKING` | |
# | `PYTORCH_CUDA_ALLOC_CONF` | `PYTORCH_NPU_ALLOC_CONF` | |
# | `torch.profiler`, Nsight | `torch_npu.profiler`, MindStudio Insight | |
# | NVTX | mstx | |

# %% [markdown] lang="zh"
# ## 工作簿的四个阶段
#
# | 阶段 | 回答的问题 | 主要的命令 | 课程 |
# |---|---|---|---|
# | 环境 | 这台机器能训练吗？缺什么、怎么补？ | `check`、`explain` | 01 |
# | 迁移 | 脚本里哪些地方要改？改完算的还是同一件事吗？ | `scan`、`rewrite`、`dry-run` | 02 |
# | 精度 | 两侧的损失不一样，是谁最先分开的？ | `capture`、`compare`、`curves` | 03 |
# | 性能 | 一步的时间花在哪里？改什么最划算？ | `profile`、`analyse` | 04 |
#
# 顺序不是随意的：环境不对，其余免谈；算得不对，快也没有意义。

# %% [markdown] lang="en"
# ## The workbook's four stages
#
# | stage | the question | main commands | course |
# |---|---|---|---|
# | environment | can this machine train, what is missing and how is it mended? | `check`, `explain` | 01 |
# | migration | what in the script must change, and does it compute the same afterwards? | `scan`, `rewrite`, `dry-run` | 02 |
# | precision | the losses differ: who parts first? | `capture`, `compare`, `curves` | 03 |
# | profiling | where does a step's time go, and which change pays? | `profile`, `analyse` | 04 |
#
# The order is no accident: on a broken machine nothing else can be told, and what is wrong need not be fast.

# %% [markdown] lang="zh"
# ## 模拟 NPU 是什么，不是什么
#
# **是**：真实的、未经修改的 torch_npu、transfer_to_npu、msprobe 和 profiler，下面垫了一套替身 CANN。设备内存就是主机内存，
# 算子由 PyTorch 的 CPU 内核计算，集合通信走替身 hccl。因此代码路径、报错和工具的用法都是真的。
#
# **不是**：NPU 的数值、速度、内存，也不是 CANN 算子对数据类型和形状的限制。结果是 CPU 的舍入，时间是 CPU 的时间，所以这里跑通
# 不等于在真实 NPU 上跑通。凡是在它上面得到的结果都会注明 `simulated`；本课程从不据此评论 NPU 的快慢。
#
# ## 第一步
#
# 下面的脚本在现有最好的设备上做一次矩阵乘，并打印结果在哪里、是什么格式。**运行之前先想一想**：`y.device.type`
# 会是什么？`y.is_cuda` 呢？

# %% [markdown] lang="en"
# ## What the simulated NPU is, and what it is not
#
# **It is** the real and unmodified torch_npu, transfer_to_npu, msprobe and profiler over a stand-in CANN. Device memory
# is host memory, PyTorch's CPU kernels compute the operators, a stand-in hccl the collectives. So the paths through the
# code, the errors and the use of the tools are real.
#
# **It is not** an NPU's values, speed or memory, nor has it the limits that CANN's operators set to dtypes and shapes:
# rounding and times are the CPU's, and what runs here need not run on a real one. Whatever was measured on it says
# `simulated`, and this course never judges an NPU's speed by it.
#
# ## A first step
#
# The script multiplies two matrices on the best device that is here and prints where the result lies and in which
# format. **Think before you run it**: what will `y.device.type` be, and `y.is_cuda`?

# %%
found = find(device)
step = run_script(run.path("notebooks/course/scripts/first_step.py"), on_device(found.tier))
print("tier:", found.tier)
print(step.stdout or raised(step.stderr))

# %% [markdown] lang="zh"
# 在 NPU（真实或模拟）上，类型是 `npu`，`is_cuda` 为 False（导入 `transfer_to_npu` 之后 `is_cuda` 变为 True，类型仍是
# `npu`）。所以用字符串 `"cuda"` 选择分支的代码，迁移后会悄悄走另一条路。记住这一点，课程 2 会用到。
#
# 自己试一试：打开 `notebooks/course/scripts/first_step.py`，把矩阵换成 float16（在 `torch.randn(32, 32)` 之后加 `.half()`），
# 再运行上面的单元。第三行在模拟 NPU 上仍是 True，因为两边都由 CPU 计算；在真实 NPU 上可能变成 False：结果的大小约为 10，
# float16 在这里相邻两数就差约 0.008。该改的是容差，不是 NPU。
#
# ## 术语表

# %% [markdown] lang="en"
# On an NPU, real or simulated, the type is `npu` and `is_cuda` is False (True once `transfer_to_npu` is imported; the
# type stays `npu`). So code that chooses a branch by the string `"cuda"` quietly goes the other way after migration.
# Keep it in mind for course 2.
#
# Try it: open `notebooks/course/scripts/first_step.py`, make the matrices float16 (`.half()` after
# `torch.randn(32, 32)`) and run the cell above again. The third line is still True on the simulated NPU, because the CPU
# computes both sides. On a real one it may become False: results are about 10 in size, where neighbouring numbers of
# float16 are 0.008 apart. It is the tolerance that has to change then, not the NPU.
#
# ## Glossary

# %%
Markdown(glossary(lang))

# %% [markdown] lang="zh"
# ## 小测验
#
# 每题一个答案：点选后按“检查答案”，或把字母填进下一个单元的引号里。答错会给提示，不会中断运行；最后一个单元按同样的方法判分。

# %% [markdown] lang="en"
# ## Quiz
#
# One answer each: choose and press "Mark my answers", or put the letters between the quotes of the next cell. A wrong
# answer gets a hint and stops nothing; the last cell marks them in the same way.

# %%
answers = {
    "matmul": "",
    "softmax": "",
    "format": "",
    "queue": "",
    "nccl": "",
    "stack": "",
    "type": "",
    "simulated": "",
}

# %% tags=["nbval-ignore-output"]
quiz_box("start", answers, lang)

# %%
print(quiz("start").marked(answers, lang))

# %% [markdown] lang="zh"
# ## 学到了什么
#
# - AI Core 有 Cube、Vector、Scalar 三种单元；不适合它的算子落到 AI CPU 或主机，慢而且值得追究。
# - NZ 与 5HD 只改变排布，不改变数值。
# - 任务队列让主机先行，也让调用栈指错地方；调试时用 `ASCEND_LAUNCH_BLOCKING=1`。
# - 固件、驱动、CANN、torch_npu 必须配套，CANN 要在启动 Python 之前 source。
# - 模拟 NPU 能教流程与报错，不能教速度与数值。
#
# 下一课：[01 环境](01_environment.ipynb)，从一次失败的 `import torch` 开始。

# %% [markdown] lang="en"
# ## What was learnt
#
# - An AI Core has Cube, Vector and Scalar units; operators that do not suit it land on the AI CPU or the host, slowly,
#   and are worth a question.
# - NZ and 5HD change the layout, not the values.
# - The task queue lets the host run ahead and makes tracebacks point elsewhere; `ASCEND_LAUNCH_BLOCKING=1` debugs.
# - Firmware, driver, CANN and torch_npu belong together, and CANN is sourced before Python starts.
# - The simulated NPU teaches the way and the errors; it does not teach speed or values.
#
# Next: [01 environment](01_environment.ipynb), which begins with an `import torch` that fails.
