# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 课程 7：放得下吗？要多久？
#
# | 时间 | 硬件 | 需要先会 |
# |---|---|---|
# | 阅读与思考 25 分钟，运行约 40 秒；两个练习各 20 至 30 分钟 | 任意机器；使用模拟 NPU | 课程 0、2、4；AdamW 做什么 |
#
# 在租卡之前就要知道的两件事：训练放不放得下，一步大约多久。**预演**（`rehearse`）在模拟 NPU 上按原尺寸运行未经修改的
# 脚本，但**只算形状**：不计算任何数值，显存由 torch_npu 自己的分配器来说。所以 7B 的模型可以在笔记本电脑上预演。
#
# **学完之后**，你能手算一个模型训练时的显存并与预演对照，看出一步受主机还是受设备限制，也知道哪些事预演说不了。

# %% [markdown] lang="en"
# # Course 7: does it fit, and how long does a step take?
#
# | time | hardware | known before |
# |---|---|---|
# | 25 minutes to read and think, about 40 s to run; two exercises of 20 to 30 minutes each | any machine; the simulated NPU | courses 0, 2 and 4; what AdamW does |
#
# Two things to know before you rent cards: whether the training fits, and about how long a step takes. A **rehearsal**
# (`rehearse`) runs the unmodified script at its full size on the simulated NPU, **shapes only**: no value is computed,
# and torch_npu's own allocator tells of memory. So a model of 7B parameters is rehearsed on a laptop.
#
# **Afterwards** you work out the memory of a training by hand and hold it against a rehearsal, tell whether a step waits
# for its host or for the device, and know what a rehearsal cannot say.

# %% tags=["parameters"]
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "npu-simulated"  # a rehearsal has no other / 预演只用模拟 NPU
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录
student: str = ""  # your number or name / 你的学号或姓名
guess: str = ""  # what holds most at the peak / 峰值时占显存最多的是: weights | gradients | optimizer | activations
limit: str = ""  # what limits the small model's step / 小模型的一步受谁限制: host | device

# %%
from course import check_task
from course.lessons.prediction import predicted
from course.tasks import fit, launches
from helpers.notebook import begin
from helpers.planning import rehearse

run = begin("course", lang, run_dir, device)
script = run.path("notebooks/scripts/llama_train.py")
mine = {"run_dir": run.folder.parent, "student": student}


def rehearsed(name, *arguments):
    return rehearse(script, arguments, cures=False, out=run.folder / f"rehearsal_{name}")


# %% [markdown] lang="zh"
# ## 两层就够看清
#
# `llama_train.py` 是一个普通的 GPU 脚本：Llama 形状的模型，bfloat16，AdamW。先预演 7B 的宽度、但只有两层
# （连同词表，参数约为 7B 的十分之一）。**先预测**：峰值时什么占得最多？写进参数 `guess`。

# %% [markdown] lang="en"
# ## Two layers are enough to see it
#
# `llama_train.py` is a GPU script like many: a model of Llama's shape, bfloat16, AdamW. First the width of 7B with two
# of its layers (with the vocabulary a tenth of 7B's parameters). **Predict**: what holds most at the peak? Put it into the
# parameter `guess`.

# %%
wide = rehearsed("wide", "--size", "7b", "--layers", "2", "--seq-length", "2048")
print(wide.verdict(lang))

# %%
parts = {part.verb: part for part in wide.parts}
by_kind = wide.facts["ranks"][0]["by_kind"]
print(predicted("guess", guess, max(by_kind, key=by_kind.get), lang))
parts["memory_kinds"]

# %% [markdown] lang="zh"
# 权重、梯度一样大；优化器状态是它们的两倍（AdamW 的两个矩）。“临时结果”也正好一样大：`optimizer.step()` 一次更新所有
# 张量（foreach），途中为全部参数各产生一个中间张量。激活值在那一刻几乎是零：反向已经用完了。
#
# 下面是两步之内的变化。**峰值在哪里**：前向、反向，还是更新？

# %% [markdown] lang="en"
# Weights and gradients are of one size; the optimizer's state is twice that (AdamW's two moments). The temporary
# results are of that size too: `optimizer.step()` updates all tensors at once (foreach) and on the way makes one more
# tensor for each parameter. Activations are next to nothing by then: the backward pass has used them up.
#
# Below, how it goes through two steps. **Where is the peak**: forward, backward, or the update?

# %%
run.picture(parts["rehearsed_memory"])

# %% [markdown] lang="zh"
# <details><summary>看到了什么（先自己判断）</summary>
#
# 峰值在更新里，第一步就是：优化器状态在那里产生，紧接着是中间张量。从第二步起，前向时优化器状态也在，所以序列更长、
# 批次更大时，峰值会移到反向开始之处，由激活值决定。先问峰值在哪里，再决定改什么：重计算只减少激活值，对更新中的峰值
# 毫无用处。
# </details>
#
# ## 多久？kernel 与下发
#
# 时间由形状估计，给的是范围，前提是没有谁在等。另一半在主机上：每个 kernel 要先下发，公开的剖析数据中每次约 15 至
# 57 微秒。下面再预演一个极小的模型（`--size tiny`，宽 64，也是两层）。**先预测**：它的 kernel 会少多少？一步受
# 主机还是受设备限制？写进参数 `limit`。

# %% [markdown] lang="en"
# <details><summary>What was seen (decide first)</summary>
#
# The peak lies in the update, in the first step already: the optimizer's state is made there, and the intermediate
# tensors right after. From the second step on the state is there in the forward pass too, so that with longer texts or
# larger batches the peak moves to where backward begins, and activations decide. Ask where the peak is before you
# choose a change: recomputing makes activations less, and does nothing for an update.
# </details>
#
# ## How long? Kernels, and their launches
#
# Times are estimated from shapes, as ranges, if nothing waits. The other half is the host's: each kernel has to be
# launched, which took about 15 to 57 microseconds in public profiles. Now a very small model is rehearsed
# (`--size tiny`, width 64, two layers as well). **Predict**: how many kernels less has it, and does its step wait for
# the host or for the device? Put that into the parameter `limit`.

# %%
small = rehearsed("small", *launches.ARGUMENTS)


def kernels(report):
    table = next(part.table for part in report.parts if part.verb == "estimated_kernels")
    return sum(row[1] for row in table.rows)


for name, report in (("7B, two layers", wide), ("tiny", small)):
    low, _, high = (each / 1e3 for each in report.facts["compute_us"])
    print(f"{name:<15} {kernels(report)} kernels, running them takes {low:.2f} to {high:.2f} ms")

# %%
said = next(found for found in small.findings if found.rule == "PLN506")
print(predicted("limit", limit, said.key.partition(".")[2], lang))
print(said.message(lang))

# %% [markdown] lang="zh"
# <details><summary>原因</summary>
#
# kernel 的个数取决于层数与写法，与宽度无关：两个模型几乎一样多，工作量却差几十倍。下发 294 个 kernel 至少要 4.4 毫秒，
# 而运行它们不到 2 毫秒：设备大部分时间空等主机。这样的一步换更快的卡也不会变快。
# </details>
#
# ## 预演不知道什么
#
# 凡是没人算出来、脚本却读取了的数值，都会列出：这里是打印的损失，读到的是假定值 1。PyTorch 之外的显存是一个范围；
# CANN kernel 的工作区、等待其他 rank 的时间、通信能被计算掩盖多少，都不在其中。所以判断“放得下”要留 8 % 的余量。

# %% [markdown] lang="en"
# <details><summary>The cause</summary>
#
# How many kernels there are depends on the layers and on how they are written, not on the width: both models have about
# as many, and the work differs by tens of times. Launching 294 kernels takes 4.4 ms at least, running them less than
# 2 ms: most of the time the device waits for its host. A faster card makes no such step faster.
# </details>
#
# ## What a rehearsal does not know
#
# Every value that nobody computed and the script read all the same is listed: here the loss that is printed, for which
# 1 was assumed. Memory outside PyTorch is a range; workspaces of CANN's kernels, waiting for other ranks, and how well
# communication hides behind computing are not in it. So "fits" asks for 8 % of the card to spare.

# %%
parts["assumed"]

# %% [markdown] lang="zh"
# ## 练习 1. 7B 为什么放不下？
#
# 完整的 7B，一块 64 GB 的卡（PyTorch 看到 60.97 GiB）。下面的预演只显示结论：它在哪一行放不下。

# %% [markdown] lang="en"
# ## Exercise 1. Why does 7B not fit?
#
# The whole of 7B, on a card of 64 GB (of which PyTorch sees 60.97 GiB). Of this rehearsal only the verdict is shown: on
# which line it ran out.

# %%
given = rehearsed("given", *fit.ARGUMENTS)
print(given.verdict(lang))
print(given.headline.place)

# %% [markdown] lang="zh"
# **作答**：由参数个数（宽 4096，前馈宽 11008，32 层，词表 32000，输入与输出各一张表）算出各类显存，单位 GiB；
# `breaks` 是使它放不下的那一类；`change` 是让同一个训练在 8 块卡上放得下的脚本参数（`--parallel`、`--recompute`、
# `--batch-size` 等，见脚本）。检查时把这些数与预演的分类显存对照（误差 2 %），再在 8 块卡上预演你的改动。

# %% [markdown] lang="en"
# **Your answer**: from the number of parameters (width 4096, feed-forward 11008, 32 layers, a vocabulary of 32000 with a
# table for what goes in and one for what comes out) the memory of each kind in GiB; `breaks` is the kind that breaks it;
# `change` the arguments of the script that make the same training fit on 8 cards (`--parallel`, `--recompute`,
# `--batch-size` and others, see the script). The numbers are held against the rehearsal's memory by kind, to 2 %, and
# your change is rehearsed on 8 cards.


# %% tags=["task-fit"]
def why_not():
    # TODO: {"weights": 0.0, "gradients": 0.0, "optimizer": 0.0, "temporary": 0.0, "breaks": "...", "change": ["--..."]}
    raise NotImplementedError


# %%
check_task("fit", why_not, **mine)

# %% [markdown] lang="zh"
# ## 练习 2. 一步为什么受下发限制？
#
# 上面的小模型受主机限制。**作答**：`llama_train.py` 的参数，仍是一块卡上的小模型（`tiny`、`0.6b`、`1b`），使得最慢的主机
# 也跟得上最快的设备，而且放得下。可以改批次、宽度（`--size`）或别的。**先预测**：梯度累积有用吗？检查只看预演的报告。

# %% [markdown] lang="en"
# ## Exercise 2. What makes a step launch-bound?
#
# The small model above waits for its host. **Your answer**: arguments of `llama_train.py`, still for a small model
# (`tiny`, `0.6b`, `1b`) on one card, with which the slowest host keeps up with the fastest device, and which fit.
# Change the batch, the width (`--size`) or what you like. **Predict**: does gradient accumulation help? What is looked
# at is the rehearsal's report.


# %% tags=["task-launches"]
def arguments():
    # TODO: ["--size", "tiny", ...]
    raise NotImplementedError


# %%
check_task("launches", arguments, **mine)

# %% [markdown] lang="zh"
# ## 学到了什么
#
# - bfloat16 的 AdamW 训练，每个参数要 8 字节常驻，更新时再加 2 字节；激活值另算。
# - 先看峰值在哪里：重计算减少激活值，FSDP 分掉权重、梯度与优化器状态，DDP 什么都不分。
# - kernel 的个数决定下发的时间，工作量决定运行的时间：批次加大让 kernel 变长，梯度累积只让它们变多。
# - 预演给的是范围和清单：哪些是假定的，哪些它不知道。
#
# 之后：`ascend-workbook rehearse train.py`，见 [规划](../../../docs/planning.zh-CN.md)。

# %% [markdown] lang="en"
# ## What was learnt
#
# - Training by AdamW in bfloat16 takes 8 bytes for each parameter all the time, and 2 more in the update; activations
#   come on top.
# - Ask where the peak is: recomputing makes activations less, FSDP shares out weights, gradients and the optimizer's
#   state, DDP shares none of them.
# - Launching goes by the number of kernels, running by their work: a larger batch makes kernels longer, accumulated
#   gradients only make them more.
# - A rehearsal gives ranges and lists: what was assumed, and what it does not know.
#
# From here: `ascend-workbook rehearse train.py`, see [planning](../../../docs/planning.md).
