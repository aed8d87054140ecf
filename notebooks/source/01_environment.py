# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 1 环境检查
#
# 这台机器能否训练、在什么设备上训练、缺什么、怎么补？

# %% [markdown] lang="en"
# # 1 Environment
#
# Can this machine train, on which device, what is missing and how is it mended?

# %% jupyter={"source_hidden": true} tags=["parameters"]
# Parameters: papermill and `ascend-workbook run -p` set them / 参数：papermill 与 `ascend-workbook run -p` 由此传入
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "auto"  # auto | npu | npu-simulated | cuda | cpu; npu means a real one / npu 指真实 NPU
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录
compute: bool = True  # compute on each device too / 是否在每个设备上实际计算
matrix_size: int = 256  # rows and columns of the matrices compared / 对比所用矩阵的行列数
error_log: str = ""  # an error, a code such as 507015, or a log's path, to explain / 要解读的错误、错误码或日志路径
self_test: bool = False  # try everything on the device, minutes, and write one archive to ask with / 设备自检并打包

# %% jupyter={"source_hidden": true}
# Form: change values here, then run the cells below / 表单：在此修改，再运行下面的单元格
from helpers.boxes import form_box

form_box(globals(), "device", "compute", "matrix_size", "self_test")

# %% jupyter={"source_hidden": true} tags=["nbval-ignore-output"]
# Start: verbs, the folder of results, the place of the verdict / 开始：导入、结果目录、结论的位置
from IPython.display import display

from helpers.environment import check, compute_check, join, launch_facts, save_settings, set_up
from helpers.notebook import begin

run = begin("environment", lang, run_dir, device)
run.place_card()

# %% [markdown] lang="zh"
# 本笔记本读取文件、`/sys` 和工具的输出，只在子进程中导入
# torch 与 torch_npu，因此即使 `import torch` 已经损坏也能运行。随后在每个设备上做加法和矩阵乘，并与精确值对比。

# %% [markdown] lang="en"
# This notebook reads files, `/sys` and the output of tools, and imports torch and torch_npu in child processes only: it
# works even where `import torch` is broken. Then every device adds and multiplies, and the results are held against
# exact values.

# %% [markdown] lang="zh"
# ## 机器
#
# 每行是一项检查：状态、依据、下一步。“通过”表示已检查且良好；“留意”值得一看；“未查”表示未能判断，不等于良好；
# “待修”会阻止训练。先看第一行“使用的设备”，括号内说明为何没有更好的设备。

# %% [markdown] lang="en"
# ## The machine
#
# A row a check: status, evidence, next step. Good means looked at and good, Look worth a look; Not looked means it
# could not be told, which is not good; Fix stands in the way of training. Begin with the first row, "device in use":
# the brackets say why no better device is used.

# %% tags=["nbval-ignore-output"]
machine = run.save(check(device, work_folder=run.folder), "machine")
machine

# %% [markdown] lang="zh"
# 同样的检查画成一条色带：绿色通过（蓝色：附有提示），灰色未查，黄色留意，红色待修。

# %% [markdown] lang="en"
# The same checks as a strip: green Good (blue: with a remark), grey Not looked, yellow Look, red Fix.

# %% tags=["nbval-ignore-output"]
run.picture(machine)

# %% [markdown] lang="zh"
# 结论建立在这些计数上。真实 NPU、模拟 NPU、CUDA 与 CPU 是四个层级，后续笔记本都会标明结果来自哪一层。

# %% [markdown] lang="en"
# The verdict rests on these. A real NPU, a simulated one, CUDA and the CPU are four tiers; every later notebook says
# which of them its results come from.

# %%
chosen = machine.facts["machine"]["chosen"]
print(f"{chosen['count']} x {chosen['name']}")
run.note(tier=machine.tier, simulated=machine.simulated, failed=machine.facts["counts"]["Fix"])

# %% [markdown] lang="zh"
# ## 计算是否正确
#
# 每个设备以 float32、float16、bfloat16 做加法和矩阵乘。误差相对于各项绝对值之和；允许值约为该数据类型舍入误差的
# 两倍；float32 矩阵乘另有求和的舍入，允许 1e-5。任何一项超出即为“待修”，并指出最差的元素。
# 在模拟 NPU 上，时间是 CPU 的，不代表 NPU。

# %% [markdown] lang="en"
# ## Does it compute right
#
# Every device adds and multiplies matrices in float32, float16 and bfloat16. The error is relative to the sum of the
# terms' magnitudes; about twice the dtype's rounding is allowed, and for a product in float32, where sums round
# too, 1e-5. One result outside is a Fix that names the worst element. On the simulated NPU the times are the CPU's and
# say nothing about an NPU.

# %%
reports = [machine]
if compute and machine.tier:
    reports.append(run.save(compute_check(device, size=matrix_size), "compute"))
reports[-1].verdict(lang)

# %% tags=["nbval-ignore-output"]
reports[-1]

# %% [markdown] lang="zh"
# 下面只列误差，与机器快慢无关：同样的输入在任何正确的设备上都应落在允许范围内。

# %% [markdown] lang="en"
# Only the errors, which do not depend on how fast the machine is: with the same inputs every correct device stays
# within what is allowed.

# %%
for row in reports[-1].facts.get("measurements", []):
    if "max_error" in row:
        print(f"{row['device']} {row['operation']:<6} {row['dtype']:<8} error {row['max_error']:.1e}")

# %% [markdown] lang="zh"
# ## 安装什么，如何启动
#
# 第一份报告针对上面的检查结果给出安装命令：只用 pip，绝不替换已安装的 torch，也不会在这里执行。第二份由 ModelArts、
# torchrun 或 SLURM 的变量得出分布式作业的描述与启动命令；相互矛盾之处会被指出。

# %% [markdown] lang="en"
# ## What to install, and how to launch
#
# The first report names the commands for what was found above: pip only, never replacing an installed torch, and not
# run here. The second makes one description of a distributed job from ModelArts', torchrun's or SLURM's variables, with
# the line that starts it; what contradicts what is named.

# %% tags=["nbval-ignore-output"]
display(run.save(set_up(device, work_folder=run.folder), "setup"))
display(run.save(launch_facts(), "launch"))

# %% [markdown] lang="zh"
# 本机的软件包、（列入名单的）环境变量与 torch 开关存入 `settings.json`。在另一台机器上也保存一份，再执行
# `ascend-workbook check --compare`，即可按对精度的风险列出差异。

# %% [markdown] lang="en"
# The machine's packages, listed variables and torch's flags go into `settings.json`. Save the other machine's too, and
# `ascend-workbook check --compare` lists the differences by their risk for precision.

# %%
settings = save_settings(run.folder / "settings.json", machine)
run.note(settings_of=settings.tier, not_told=sorted(settings.untold))

# %% [markdown] lang="zh"
# ## 解读错误
#
# 训练报错时，把错误文字、错误码或日志路径粘贴到下面的框中（或写入参数 `error_log`），得到最先失败的 rank 的首个错误、
# 各层错误码的含义、原因与处理办法。没有报错时（慢、显存不足、NaN、结果不一致）请用
# `ascend-workbook explain --symptom`。

# %% [markdown] lang="en"
# ## An error explained
#
# When a training fails, paste the error, a code or the path of a log into the box (or give it as the parameter
# `error_log`): the first error of the first failing rank, its codes from top to bottom, cause and fix. For a run that
# is slow, out of memory, NaN or off without an error there is `ascend-workbook explain --symptom`.

# %%
from helpers.boxes import explain_box

explain_box(error_log, lang)

# %% [markdown] lang="zh"
# ## 设备自检
#
# 首次使用一台机器，或需要提问时，设 `self_test=True`：算子、内置训练、性能采集与 hccl 各在独立进程中检验，并生成一个
# 已脱敏、可附在提问中的 zip（命令 `ascend-workbook selftest` 相同）。

# %% [markdown] lang="en"
# ## The device tested
#
# On a machine's first day, or before asking for help, set `self_test=True`: operators, bundled trainings, the profiler
# and hccl are tried, each in a process of its own, and one redacted zip is written to attach to the question (the
# command `ascend-workbook selftest` does the same).

# %% tags=["nbval-ignore-output"]
from helpers import selftest

run.save(selftest(device, out=run.folder), "selftest") if self_test else None

# %% [markdown] lang="zh"
# ## 结论
#
# 两份报告合为一份，以 JSON 写入运行目录，运行页面 `index.html` 随之更新。
# 若结论为“待修”，最后一行会报错，批量运行随之待修。

# %% [markdown] lang="en"
# ## Verdict
#
# Both reports joined, written into the run's folder as JSON; its page, `index.html`, is drawn anew. Where the verdict
# is Fix the last line raises, so that a batch stops there.

# %%
report = run.save(join(*reports))
run.conclude(report)
