# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 4 性能分析
#
# 一步训练的时间花在哪里？最多能省多少？

# %% [markdown] lang="en"
# # 4 Profiling
#
# Where does a training step's time go, and how much can be saved at most?

# %% jupyter={"source_hidden": true} tags=["parameters"]
# Parameters: papermill and `ascend-workbook run -p` set them / 参数：papermill 与 `ascend-workbook run -p` 由此传入
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "auto"  # auto | npu | npu-simulated | cuda | cpu
run_dir: str = "runs/notebook"  # where results go / 结果目录
script: str = "notebooks/scripts/resnet_digits.py"  # any training script / 任意训练脚本
script_args: str = "auto"  # its arguments; auto: the sample's, none for other scripts / 脚本参数，auto 仅为示例脚本设值
work_dir: str = ""  # folder to run it in; empty: the script's own / 运行目录；空为脚本所在目录
steps: int = 8  # steps to record / 采集步数
warmup: int = 2  # steps before them, not recorded / 采集前的预热步数
nproc: int = 1  # processes under torchrun / torchrun 进程数
existing: str = ""  # a profile already taken: a trace or *_ascend_pt folder / 已有的性能数据
baseline: str = ""  # a profile to hold it against: GPU against NPU, before against after / 用于对比的基线性能数据
top: int = 12  # operators to list / 列出的算子数
bench_steps: int = 10  # steps to time for the benchmark; 0: no benchmark / 性能基准的计时步数；0 为不测
sweep: str = ""  # what to vary or try, as --sweep, --loader, --env, --preset / 基准中变化或试验的项，写法同这四个选项
bench_baseline: str = ""  # an earlier benchmark's JSON, of any machine / 早先的基准结果（JSON），可来自任意机器

# %% jupyter={"source_hidden": true}
# Form: change values here, then run the cells below / 表单：在此修改，再运行下面的单元格
from helpers.boxes import form_box

form_box(globals(), "script", "device", "steps", "existing", "bench_steps", "sweep")

# %% jupyter={"source_hidden": true} tags=["nbval-ignore-output"]
# Start: verbs, the folder of results, the place of the verdict / 开始：导入、结果目录、结论的位置
from helpers.boxes import timeline_view
from helpers.notebook import begin
from helpers.profiling import analyse, benchmark, from_words, join, profile
from helpers.report import Status
from helpers.words import show

run = begin("profiling", lang, run_dir, device)
run.place_card()

# %% [markdown] lang="zh"
# 本笔记本用设备自己的 profiler 采集若干步：NPU 上用 `torch_npu.profiler`
# （脚本经 `transfer_to_npu` 迁移），CUDA 与 CPU 上用 `torch.profiler`；也可以直接分析已有的性能数据。
# 脚本在子进程中原样运行。模拟 NPU 的计算核在 CPU 上运行，
# 其耗时是实测的 CPU 耗时：只能看出做了什么，看不出 NPU 的快慢。

# %% [markdown] lang="en"
# This notebook records some steps with the device's own profiler: `torch_npu.profiler` on an NPU (the script migrated
# by `transfer_to_npu`), `torch.profiler` on CUDA and the CPU; or it reads a profile that was taken before. The script
# runs unmodified in a child process. The kernels of a simulated NPU run on the CPU, and their measured times are the
# CPU's: they tell what is done, not how fast an NPU is.

# %% [markdown] lang="zh"
# ## 采集
#
# profiler 会吞掉自己的错误，因此采集之后要清点实际得到的数据。缺了真实设备必须给出的数据就是“待修”，
# 在模拟 NPU 上是“留意”。若给出 `existing`，则跳过采集。

# %% [markdown] lang="en"
# ## Record
#
# The profilers swallow their own errors, so what really came is counted afterwards. Data that a real device must give
# and that is absent is a Fix, on a simulated NPU a Look. With `existing` nothing is recorded.

# %%
recorded, path = None, run.path(script)
arguments = run.arguments(path, script_args, "--depth 14 --width 8 --batch-size 32 --epochs 1")
options = {"device": device, "nproc": nproc, "cwd": run.path(work_dir) if work_dir else path.parent}
if not existing:
    options |= {"steps": steps, "warmup": warmup}
    with run.bar() as bar:
        recorded = profile(path, arguments, out=run.folder / "profile", on_progress=bar, **options).or_raise()

# %% tags=["nbval-ignore-output"]
recorded

# %% [markdown] lang="zh"
# 每种数据是否得到。下面的步数和损失与机器快慢无关：被采集的脚本与平时训练的是同一个脚本。

# %% [markdown] lang="en"
# Whether each kind of data came. The steps and losses do not depend on how fast the machine is: the script that was
# profiled trains as it always does.

# %%
for kind, _, state in recorded.table.rows if recorded else ():
    if kind["say"] != "profiling.data.overhead":  # which varies
        print(f"{state:<8}{show(kind, lang)}")

# %%
losses = recorded.facts["losses"] if recorded else []
print("losses of all steps:", " ".join(f"{loss:.6f}" for loss in losses))

# %% [markdown] lang="zh"
# ## 时间花在哪里
#
# 一步被分成互不重叠、总和等于整步的几部分：计算；未被计算掩盖的通信和拷贝；等待数据；空闲。某一部分的大小就是针对它
# 的改动所能节省的上限。第一步视为预热，不计入。没有设备时，计算指主机算子，空闲指算子之间的 Python。
# 在模拟 NPU 上，计算指在 CPU 上运行的计算核，空闲指两个计算核之间主机所做的一切。

# %% [markdown] lang="en"
# ## Where the time goes
#
# A step falls into parts that never overlap and sum to it: computing; communication and copies that computing does not
# hide; waiting for data; free time. The size of a part is the most that any change to it can save. The first step
# counts as warm-up. Without a device, computing means the operators on the host, and free the Python between them.
# On a simulated NPU computing means its kernels, which run on the CPU, and free all that the host does between them.

# %%
answer = analyse(run.path(existing) if existing else recorded.facts["profile"], top=top)
parts = {part.verb: part for part in answer.parts}
by_kind, operators, by_step = (parts[name] for name in ("time_by_kind", "top_operators", "step_times"))
run.note(tier=answer.tier, simulated=answer.simulated, device_data=by_kind.facts["device_data"])

# %% [markdown] lang="zh"
# 分析依次回答下列问题；缺少所需数据的问题会注明未检查。

# %% [markdown] lang="en"
# The analysis answers these questions in turn; where the data for one is missing it says that it was not looked at.

# %%
print(*(part.title(lang) for part in answer.parts), sep="\n")

# %% tags=["nbval-ignore-output"]
run.save(by_kind, name="time_by_kind")

# %% tags=["nbval-ignore-output"]
run.picture(by_kind)

# %%
total = sum(by_kind.facts["parts_ns"].values()) / by_kind.facts["step_ns"]
run.note(parts_sum_to=round(total, 6))

# %% [markdown] lang="zh"
# ## 最耗时的算子
#
# 有设备时，时间是该算子所启动的计算核的时间；没有设备时，是算子自身的时间（不含它调用的算子）。占比相对于整步。
# 形状一列是该算子最耗时的输入形状。

# %% [markdown] lang="en"
# ## The costliest operators
#
# With a device, the time is that of the kernels an operator launched; without one, the operator's own, less that of the
# operators it calls. The share is of the whole step. The shapes are the inputs that cost the operator most.

# %% tags=["nbval-ignore-output"]
run.save(operators, name="top_operators")

# %% tags=["nbval-ignore-output"]
run.picture(operators)

# %% [markdown] lang="zh"
# 每步调用次数不随机器变化：次数很多而每次很短的算子，是融合的候选。

# %% [markdown] lang="en"
# Calls a step are the same on every machine: operators called often and briefly are what fusing is for.

# %%
calls = operators.facts["calls_per_step"]
for name in sorted(calls, key=lambda name: (-calls[name], name))[:top]:
    print(f"{calls[name]:>7g}  {name}")

# %% [markdown] lang="zh"
# ## 逐步
#
# 各步应当接近。某一步明显更慢时，看它除训练外还做了什么：日志、检查点、评估、首次出现的形状。

# %% [markdown] lang="en"
# ## Step by step
#
# Steps should be alike. Where one is much slower, see what it does besides training: logging, a checkpoint, evaluation,
# a shape met for the first time.

# %% tags=["nbval-ignore-output"]
run.save(by_step, name="step_times")

# %%
run.note(steps=by_kind.facts["steps"], steady=by_kind.facts["steady_steps"])

# %% [markdown] lang="zh"
# ## 时间线
#
# 一步之内，主机、下发、设备流、通信各在做什么。留意两处：设备流上的空白（设备在等谁？），以及空白开始时主机正在做的事。
# 滚轮缩放，拖动平移，按 `/` 搜索名称，Shift+拖动得到所选范围的合计；悬停在算子上，箭头指向它下发的计算核。
# 页面不访问网络。`ascend-workbook analyse 路径 --timeline timeline.html` 得到同样的页面；
# `--perfetto trace.json.gz` 写出 Perfetto 能完整显示的 trace。

# %% [markdown] lang="en"
# ## Timeline
#
# What the host, its launches, the device's streams and its collectives do within one step. Look for two things: gaps on
# the streams (whom does the device wait for?), and what the host does where a gap begins. The wheel zooms, dragging
# moves, `/` searches a name, Shift and dragging sums up what is selected; over an operator, arrows lead to the kernels
# that it launched. The page asks no network. `ascend-workbook analyse PATH --timeline timeline.html` writes the same
# page, and `--perfetto trace.json.gz` a trace that Perfetto shows whole.

# %% tags=["nbval-ignore-output"]
timeline = parts["timeline"]
timeline_view(timeline, lang)

# %%
print("lanes:", *dict.fromkeys(group["say"].rpartition(".")[2] for group in timeline.table.column_values("lane_group")))

# %% [markdown] lang="zh"
# 上面列出这份数据中有哪几类泳道。没有设备时只有主机的泳道：算子之间的空白就是 Python 的时间。

# %% [markdown] lang="en"
# The kinds of lanes that this profile has are listed above. Without a device there are the host's alone: the gaps
# between operators are Python's time.

# %% [markdown] lang="zh"
# ## 能省多少
#
# 每条规则给出原因、上限和下一步，按上限排序。上限不相加：同一段时间可以有多个原因。

# %% [markdown] lang="en"
# ## What can be saved
#
# Each rule gives a cause, a bound and a next step, the largest bound first. Bounds do not add up: the same time can
# have several causes.

# %% tags=["nbval-ignore-output"]
findings = [found for part in answer.parts for found in part.findings if found.rule != "PRF310"]
advice = [found for found in findings if found.status in (Status.NOTE, Status.LOOK)]
for found in sorted(advice, key=lambda found: -found.weight):
    print(found.status.word(lang), found.rule, found.message(lang), found.hint(lang), sep="  ")

# %% [markdown] lang="zh"
# 没有检查的项目也要写明，它们不等于没有问题。

# %% [markdown] lang="en"
# What was not looked at is said too: it is not known to be good.

# %%
for found in findings:
    if found.status is Status.NOT_LOOKED:
        print(found.rule, found.message(lang))

# %% [markdown] lang="zh"
# ## 与基线对比
#
# 若给出 `baseline`（例如 GPU 上采集的 trace，或修改之前的性能数据），每步的差异按类别、算子、模块分到各行，
# 各行之和等于总差异。先看两者是否可比：batch、形状、采集内容不同时，快慢没有意义。

# %% [markdown] lang="en"
# ## Against a baseline
#
# With `baseline` (a trace from a GPU, say, or the profile of before a change) the difference of a step is split by
# kind, operator and module, into rows that add up to it. Look first at whether the two can be compared: with another
# batch size, other shapes or another recording, faster and slower mean nothing.

# %%
compared = None
if baseline:
    target = run.path(existing) if existing else recorded.facts["profile"]
    compared = run.save(analyse(target, baseline=run.path(baseline), top=top), name="baseline")
run.note(compared=compared is not None)

# %% tags=["nbval-ignore-output"]
compared

# %% [markdown] lang="zh"
# ## 性能基准
#
# 采集会拖慢训练，因此速度要在不采集时测量：同一脚本再运行一次，每步等待设备完成，去掉预热步，给出吞吐、时延分位数和
# 内存峰值。`sweep` 可变化脚本参数（`batch-size=8,16`）、数据加载（`workers=0,2`、`pin_memory`、`prefetch_factor=2,4`）
# 或精度（`autocast`），每个组合运行一次，内存不足也是一行结果。四分位距或漂移过大时会提示不稳定。
# 大写的名称是环境变量（`TASK_QUEUE_ENABLE=1,2`），`preset=jemalloc` 是按名称给出的设置：
# 它们与脚本原样轮流运行，直到每项都有结论。模拟 NPU 上的时间是 CPU 的，不评判快慢。

# %% [markdown] lang="en"
# ## Benchmark
#
# Recording slows a training down, so speed is measured without it: the same script once more, each step waited for,
# warm-up left out; what comes is throughput, latency percentiles and the memory's peak. `sweep` varies arguments of the
# script (`batch-size=8,16`), its loading (`workers=0,2`, `pin_memory`, `prefetch_factor=2,4`) or its precision
# (`autocast`): a run for each combination, and running out of memory is a row too. Times that spread or drift are
# told as not steady. Names in capitals are variables of the environment (`TASK_QUEUE_ENABLE=1,2`), `preset=jemalloc` is
# a setting by its name: these are run in turn with the script as it is, until each is decided. On a simulated NPU the
# times are the CPU's, and nothing is called fast.

# %%
speed = None
if bench_steps and not existing:
    options |= {"steps": bench_steps, "warmup": max(1, warmup), **from_words(sweep)}
    options |= {"baseline": run.path(bench_baseline)} if bench_baseline else {}
    with run.bar() as bar:
        speed = benchmark(path, arguments, out=run.folder / "benchmark", on_progress=bar, **options)

# %% tags=["nbval-ignore-output"]
run.save(speed, name="benchmark") if speed else None

# %%
rows = speed.facts["benchmark"]["configurations"] if speed else ()
names = ("name", "outcome", "samples_per_step", "steps")
run.note(runs=[[row.get(name) for name in names] for row in rows])

# %% [markdown] lang="zh"
# ## 结论
#
# 一句话：什么最耗时、占多少、单项改动最多能省多少。所有报告合为一份写入运行目录；若结论为“待修”，最后一行会报错。

# %% [markdown] lang="en"
# ## Verdict
#
# One sentence: what costs most, its share, and the most that one change can save. All reports are joined and written
# into the run's folder; where the verdict is Fix the last line raises.

# %% tags=["nbval-ignore-output"]
report = run.save(join(recorded, answer, speed))
run.conclude(report)

# %%
run.note(ran_on=report.tier)
