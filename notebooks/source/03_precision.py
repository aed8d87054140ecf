# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 3 精度对齐
#
# 同一个脚本在 GPU 基线与 NPU 上训练的结果是否一致？不一致时，从哪个算子开始？

# %% [markdown] lang="en"
# # 3 Precision alignment
#
# Does one script train to the same numbers on the GPU baseline and on the NPU, and if not, which operator parts them
# first?

# %% jupyter={"source_hidden": true} tags=["parameters"]
# Parameters: papermill and `ascend-workbook run -p` set them / 参数：papermill 与 `ascend-workbook run -p` 由此传入
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "auto"  # auto | npu | npu-simulated | cuda | cpu; npu means a real one / npu 指真实 NPU
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录
script: str = "notebooks/scripts/resnet_digits.py"  # the GPU training script / GPU 训练脚本
script_args: str = "auto"  # its arguments; auto: the sample's, none for other scripts / 脚本参数，auto 仅为示例脚本设值
steps: int = 4  # optimizer steps of each run / 每次运行的优化步数
fault: str = ""  # simulated NPU only: a fault to inject, written as shown below / 仅模拟 NPU：注入的故障，写法见下文
baseline: str = ""  # a baseline recorded elsewhere: a bundle or a capture's folder / 在别处录制的基线：基线包或采集目录
numerics: str = "cpu"  # simulated NPU only: "ascend" rounds as its cube does / 仅模拟 NPU："ascend" 按矩阵单元舍入
draws: str = "device"  # "host": dropout draws alike on both sides / "host"：两侧 dropout 的随机数相同
watched: str = ""  # folder of a training under `ascend-workbook watch`, drawn live / `watch` 运行的目录，实时绘制
replayed: str = ""  # row of the comparison to run again; empty: the culprit / 要重算的比对行，留空为首个差异处
corpus: str = ""  # files of the training corpus to look at, blanks between / 要检查的训练语料文件，以空格分隔
fail_on: str = ""  # classes that make the run Fix: "unpaired,dtype" / 使运行待修的类别，如 "unpaired,dtype"

# %% jupyter={"source_hidden": true}
# Form: change values here, then run the cells below / 表单：在此修改，再运行下面的单元格
from helpers.boxes import form_box

form_box(globals(), "script", "device", "steps", "baseline", "fault", "numerics", "draws")

# %% jupyter={"source_hidden": true} tags=["nbval-ignore-output"]
# Start: verbs, the folder of results, the place of the verdict / 开始：导入、结果目录、结论的位置
from helpers import advise, capture, compare, curves, inspect_data, verify
from helpers.boxes import replay_box, tolerance_box
from helpers.notebook import begin
from helpers.precision import around, follow_watched, join

run = begin("precision", lang, run_dir, device)
options = {"steps": steps, "dump_steps": sorted({0, min(1, steps - 1), steps - 1}), "force": True, "draws": draws}
run.place_card()

# %% [markdown] lang="zh"
# 在基线（有 CUDA 用 CUDA，否则由 CPU 代替）和 NPU 上以相同的种子各训练几步。本笔记本用 msprobe 采集两侧每个算子的
# 输入与输出，再按执行次序逐张量比对。脚本不作任何修改。

# %% [markdown] lang="en"
# The script trains a few steps on the baseline (CUDA where there is one, else the CPU in its place) and on the NPU,
# with the same seeds. msprobe dumps the inputs and outputs of every operator on both sides; they are compared in the
# order of execution. The script is not changed.

# %% [markdown] lang="zh"
# ## 采集
#
# msprobe 在子进程中运行，采集前两步和最后一步，从前向到参数更新之前；第二步的权重说明更新本身是否正确。
# 开始之前会说明最多写入多少数据，超过即停止。
# 每次采集以清单结束，其中有每个文件的校验和，因此中途被终止的采集不会被当作完整数据。
#
# 带 dropout 的训练请设 `draws = "host"`：两侧的随机数都取自主机，同一种子在两种设备上相同，
# 因此 dropout 不再成为差异的原因；脚本自身的随机数与此不同，报告会注明。
#
# 先采集基线。若给出 `baseline`，则使用它而不在此采集：例如在另一个区域的 GPU 上用 `ascend-workbook baseline`
# 录制的 zip
# （步骤见 `docs/two-regions.zh-CN.md`）。基线包中没有张量，此时按统计量和曲线比对，无法判断的内容会注明。

# %% [markdown] lang="en"
# ## Capture
#
# msprobe runs in a child process, for the first two steps and the last, from the forward to the update; the
# weights of the second step tell whether the update itself was right. What may be
# written at most is said before it starts; beyond that it stops. Each capture ends with a manifest of checksums, so
# that one which was killed is never taken for a whole one.
#
# A training with dropout wants `draws = "host"`: random numbers of both sides come from the host, the same for one
# seed on either device, so that dropout parts nothing. They are not those that the script draws without it; the
# report says so.
#
# The baseline first. Where `baseline` is given it is taken instead of a capture here: the zip, say, that
# `ascend-workbook baseline` made on a GPU in another region (`docs/two-regions.md` has the steps). A bundle has no
# tensors: then statistics and curves are compared, and what they cannot tell is said.

# %%
arguments = run.arguments(run.path(script), script_args, "--depth 14 --batch-size 16")
against = run.place(baseline) if baseline else run.folder / "baseline"
if not baseline:
    with run.bar() as bar:
        recorded = capture(run.path(script), arguments, out=against, device="baseline", progress=bar, **options)
against if baseline else recorded

# %% [markdown] lang="zh"
# 再采集 NPU 一侧：同一个脚本，通过 transfer_to_npu 运行。`fault` 和 `numerics` 只作用于模拟 NPU 的子进程，例如
# `aten::convolution@3:scale=1.01` 把第三次卷积的结果乘以 1.01，`aten::convolution_backward@5:scale=1.01`
# 同样放大反向传播中第五次卷积的梯度。

# %% [markdown] lang="en"
# Then the NPU's side: the same script under transfer_to_npu. `fault` and `numerics` reach only the simulated NPU:
# `aten::convolution@3:scale=1.01` multiplies the result of the third convolution by 1.01,
# `aten::convolution_backward@5:scale=1.01` the gradients of the fifth convolution in the backward pass.

# %%
settings = {"ASCEND_WORKBOOK_SIM_FAULT": fault} if fault else {}
settings |= {"ASCEND_WORKBOOK_SIM_NUMERICS": numerics} if numerics != "cpu" else {}
own = {"out": run.folder / "target", "device": device, "settings": settings}
with run.bar() as bar:
    target = capture(run.path(script), arguments, progress=bar, **own, **options)
target

# %% [markdown] lang="zh"
# ## 损失曲线
#
# 第一步的损失在任何更新之前得到，只取决于前向计算：两侧应当几乎相同。之后训练会放大舍入误差，
# 曲线逐渐分开不一定是错误，
# 要由逐张量比对来判断。图的上半部分是两条曲线，下半部分是相对差；红线是持续分开的第一步，虚线是尖峰。`curves` 也接受
# 其他日志：TensorBoard 目录、CSV、trainer_state.json、Megatron-LM 或普通文本日志，两侧格式可以不同。

# %% [markdown] lang="en"
# ## Loss curves
#
# The first loss comes before any update and rests on the forward pass alone: both sides should nearly agree. After
# that training amplifies rounding. Curves that drift apart need not be an error; the tensors tell. The picture has
# both curves above and their relative difference below; a red line marks the first step from which they stay apart,
# dotted lines mark spikes. `curves` takes other logs too, of one kind or two: TensorBoard folders, CSV,
# trainer_state.json, Megatron-LM's or plain text logs.

# %%
losses = run.save(curves(against, run.folder / "target"), "curves")
losses

# %%
run.picture(losses)

# %% [markdown] lang="zh"
# ## 逐张量比对
#
# 先比结构（缺失的算子、形状、数据类型），再比数值。误差是相对 L2 误差，按执行次序排列，前向与反向分开，
# 虚线是允许误差。
# 看曲线上的第一个跳变：之后的算子只是继承了误差，红线标出最先出现差异的算子。数值完全相同的点落在零线上。

# %% [markdown] lang="en"
# ## Comparison by tensor
#
# Structure before numbers: missing operators, shapes, dtypes. Errors are relative L2 in the order of execution,
# forward and backward apart; the dashed line is what is allowed. Look for the first jump: what comes after it has only
# inherited the error. The red line marks the operator that parts the runs first; equal numbers lie at zero.

# %%
with run.bar() as bar:
    comparison = run.save(compare(against, run.folder / "target", progress=bar), "comparison")
run.picture(comparison)

# %% [markdown] lang="zh"
# 下面是最先出现差异的算子前后几行（没有差异时，是引入误差最大的算子前后）。“自身误差”由重算得到：用该侧记录的输入以
# float64 重算算子，与记录的输出相比，因此不含继承来的误差。“允许误差”是舍入（以及 HF32 等低精度格式）所能解释的部分。

# %% [markdown] lang="en"
# The rows around the first operator to part (where none does: around the one that adds the most). *Own error* comes
# from running the operator again in float64 with that side's recorded inputs, so it holds nothing inherited.
# *Allowed* is what rounding, and a reduced format such as HF32 where it is in force, explains.

# %%
around(comparison, rows=4)

# %% [markdown] lang="zh"
# 每个算子归入一类。“explained” 表示误差由输入引起，“allowed” 表示在低精度格式允许范围内，“not_compared” 表示两侧
# 自动求导节点不同、无法直接比对（其误差会体现在后一个算子上）。未比对的绝不计为通过。

# %% [markdown] lang="en"
# Every operator falls into one class. *explained*: the inputs' error explains it; *allowed*: within a reduced format;
# *not_compared*: the devices use other autograd nodes (an error shows in the operator that follows). What was not
# compared never counts as agreement.

# %%
print(*(f"{name}: {count}" for name, count in comparison.facts["outcomes"].items()), sep="\n")
run.note(formats=comparison.facts["numerics"], first=comparison.facts["first_divergence"])

# %% [markdown] lang="zh"
# 选一行并点击按钮，就重算该算子：用各侧记录的输入以 float64 重算，再在有误一侧的设备上重算一次，
# 从而区分误差是在此产生、由输入带来，还是不能再现。
# 下方（无界面运行时仅有这部分）是 `replayed` 所指的行；留空则为最先出现差异的算子。

# %% [markdown] lang="en"
# Choose a row and press the button to run its operator again: in float64 from the inputs that each side recorded, and
# once more on the device of the side that is off. So an error made here is told from one that came with the inputs,
# and from one that does not come again. Below, and alone in a run without a reader, stands the row that `replayed`
# names, or the first operator to part.

# %%
replay_box(comparison, replayed, lang)

# %% [markdown] lang="zh"
# ## 建议
#
# 十种已知原因逐一检查：采集数据中看到了什么、应改的代码行或环境变量及其来源。缺少数据的会说明“未检查”，
# 不当作没有问题。

# %% [markdown] lang="en"
# ## Advice
#
# Ten known causes, one row each: what was seen in the captures, the line or variable to change, and its source. A cause
# whose facts were not recorded says *not looked*, which is not the same as clean.

# %%
run.save(advise(against, run.folder / "target"), "advice")

# %% [markdown] lang="zh"
# ## 许多输入
#
# 训练几步只看到几个批次。`verify` 让同一个网络在两种设备上运行许多输入，逐模块比对，给出通过率及其区间和最差的输入
# （可用 `only=[编号]` 重跑）。这里用示例的网络；换成自己的 `文件.py:函数` 即可。

# %% [markdown] lang="en"
# ## Many inputs
#
# A few training steps see a few batches. `verify` runs one network on both devices over many inputs, module by
# module: pass rate with its interval, and the worst input, to be run again with `only=[number]`. Here it is the
# sample's network; put your own `file.py:function` in its place.

# %%
parts = run.folder / "parts.py"
parts.write_text(f"""import sys
sys.path.insert(0, {str(run.path("notebooks/scripts"))!r})
import torch
from resnet_digits import LAYOUTS, ResNet
def model(): return ResNet(LAYOUTS[14]).eval()
def batches(): return [torch.randn(16, 1, 8, 8) for _ in range(8)]
""")
rounding = {name: value for name, value in settings.items() if "NUMERICS" in name}
inputs = f"{parts}:batches"
with run.bar() as bar:
    many = verify(f"{parts}:model", f"{parts}:model", inputs, device_b=device, settings=rounding, progress=bar)
run.save(many, "many_inputs")

# %% [markdown] lang="zh"
# 换用其他容差，结论会变吗？拖动滑块，查看此时有哪些算子超出，不会重新比对；下方（无界面运行时仅有这部分）是几种倍数的
# 表格。

# %% [markdown] lang="en"
# Would another tolerance change the answer? Move the slider and see which operators are then out; nothing is compared
# again. Below, and alone in a run without a reader, stands a table of several factors.

# %%
tolerance_box(comparison, lang)

# %% [markdown] lang="zh"
# ## 监控中的训练
#
# 若 `watched` 给出 `ascend-workbook watch` 正在写入的目录，这里会随训练绘制损失、梯度范数与告警，
# 直到运行结束；批量运行时留下最后一张图。

# %% [markdown] lang="en"
# ## A training that is watched
#
# Where `watched` names the folder that `ascend-workbook watch` writes to, its loss, gradient norm and alarms are drawn
# here while the training goes on, until it ends; run headless, the last picture stays.

# %%
watched_report = follow_watched(run.place(watched), lang=lang) if watched else None
watched_report

# %% [markdown] lang="zh"
# ## 训练语料
#
# 损失尖峰与坏结果也可能来自数据。若 `corpus` 给出语料文件（例如 `train.jsonl`），这里会逐条检查：损坏、重复、近似重复、
# 语言、长度与符号，并指出文件与行；原文件不会改动。

# %% [markdown] lang="en"
# ## The training corpus
#
# Spikes and bad results may come from the data too. Where `corpus` names files (`train.jsonl`, say), each record is
# looked at: broken, the same, nearly the same, language, length, symbols, with file and line. Nothing is written to
# the files.

# %%
corpus_files = [run.place(name) for name in corpus.split()]
corpus_report = run.save(inspect_data(corpus_files), "corpus") if corpus_files else None
corpus_report

# %% [markdown] lang="zh"
# ## 结论
#
# 依次回答四个问题，各有一份报告，合为一页写入运行目录；另写一份 JUnit 文件供 CI 使用。若有算子使两侧出现差异，
# 或存在 `fail_on` 所列类别的发现，最后一行会报错，批量运行随之待修，与命令的 `--fail-on` 相同。

# %% [markdown] lang="en"
# ## Verdict
#
# Four questions answered in order, a report each, joined on one page in the run's folder, with a JUnit file for CI
# servers. Where an operator parts the runs, or a finding of a class in `fail_on` is there, the last line raises, so
# that a batch stops there, as the command does with `--fail-on`.

# %%
report = run.save(join(losses, comparison, fail_on=fail_on))
_ = (run.folder / "report.junit.xml").write_text(report.junit(lang), encoding="utf-8")
run.conclude(report)
