# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 课程 4：训练循环为什么慢？
#
# | 时间 | 硬件 | 需要先会 |
# |---|---|---|
# | 阅读与思考 25 分钟，运行约 25 秒 | 任意机器，不需要 NPU | 写过 PyTorch 的训练循环 |
#
# 一个真正慢的脚本，慢的原因都在主机上。按四步来做：测量、找原因、修改、再测量。每次测量之前先写下你的预测：
# 猜错的预测比猜对的更有用。
#
# **学完之后**，你能由一步的构成找出最耗时的部分，算出修改的上限，并证明改快之后算的还是同一件事。
#
# 不需要 NPU：脚本在 CPU 上运行，时间是实测的。主机上的这两个毛病在 GPU 和 NPU 上同样常见，而且代价更大，
# 因为设备会跟着空等。

# %% [markdown] lang="en"
# # Course 4: why is the loop slow?
#
# | time | hardware | known before |
# |---|---|---|
# | 25 minutes to read and think, about 25 s to run | any machine, no NPU needed | a training loop in PyTorch |
#
# A script that is truly slow, for reasons that all lie on the host. Four moves: measure, find the cause, change it,
# measure again. Before each measurement write down what you expect: a prediction that fails teaches more than one that
# holds.
#
# **Afterwards** you find what costs most in a step, know the most that a change can save, and prove that the faster loop
# still computes the same.
#
# No NPU is needed: the script runs on the CPU, and the times are measured. Both troubles are as common with a GPU or an
# NPU, and cost more there, because the device waits along.

# %% tags=["parameters"]
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "cpu"  # auto | npu | npu-simulated | cuda | cpu
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录
steps: int = 8  # steps to record in each measurement / 每次测量采集的步数
guess: str = ""  # your prediction of what costs most / 你预测最耗时的部分: network | loader | watch

# %%
import ast

from course.lessons.prediction import predicted
from helpers.boxes import timeline_view
from helpers.notebook import begin
from helpers.profiling import analyse, profile

run = begin("course", lang, run_dir, device)
script = run.path("notebooks/course/scripts/slow_loop.py")
text = script.read_text(encoding="utf-8")

# %% [markdown] lang="zh"
# ## 脚本与预测
#
# 下面是循环里的三个部分：取一张图（`__getitem__`）、记录梯度（`watch`）、训练一步（`main`）。网络很小：四个卷积层。
# **先预测**：一步之中，网络、加载、记录梯度各占百分之几？把最大的那个写进参数 `guess`。

# %% [markdown] lang="en"
# ## The script, and a prediction
#
# Three pieces of the loop: an image is taken (`__getitem__`), gradients are watched (`watch`), a step is trained
# (`main`). The network is small: four convolutions. **Predict first**: which percentage of a step goes to the network,
# to loading, and to watching? Put the largest into the parameter `guess`.

# %%
pieces = {one.name: one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.FunctionDef)}
for name in ("__getitem__", "watch", "main"):
    print(ast.get_source_segment(text, pieces[name]), "\n")

# %% [markdown] lang="zh"
# ## 第一次测量
#
# `measure` 把脚本连同所列的修改写进运行目录，采集若干步并分析。第一次不做任何修改。

# %% [markdown] lang="en"
# ## First measurement
#
# `measure` writes the script with the changes given to it into the run's folder, records some steps and analyses them.
# The first time nothing is changed.

# %%
measured = {}


def measure(name, *changes):
    changed = text
    for old, new in changes:
        assert changed.count(old) == 1, old
        changed = changed.replace(old, new)
    file = run.folder / f"slow_loop_{name}.py"
    file.write_text(changed, encoding="utf-8")
    recorded = profile(file, device=device, steps=steps, warmup=2, out=run.folder / f"slow_loop_{name}").or_raise()
    report = analyse(recorded.facts["profile"])
    measured[name] = {part.verb: part for part in report.parts}
    return recorded


# %%
first = measure("first")
parts = measured["first"]
print("recorded steps:", len(parts["time_by_kind"].facts["steps"]))

# %% tags=["nbval-ignore-output"]
run.picture(parts["time_by_kind"])

# %% [markdown] lang="zh"
# 看“等待数据”占多少，再与预测对照。

# %% [markdown] lang="en"
# Look at how much is "waiting for data", and hold it against the prediction.

# %%
spent = parts["time_by_kind"].facts["parts_ns"]
print(predicted("guess", guess, "loader" if 2 * spent["loading"] > sum(spent.values()) else "network", lang))

# %% [markdown] lang="zh"
# 再看时间线：一步之中，加载与算子是同时进行，还是一个等另一个？

# %% [markdown] lang="en"
# Then the timeline: do loading and operators go on at the same time, or does one wait for the other?

# %% tags=["nbval-ignore-output"]
timeline_view(parts["timeline"], lang)

# %% [markdown] lang="zh"
# <details><summary>看到了什么（先自己判断）</summary>
#
# 一步的大部分时间里没有任何算子在运行：`enumerate(DataLoader)` 在解码 32 张图片，而解码在 Python 中逐像素进行
# （每步约 29.5 万次循环）。`num_workers=0` 时加载与训练在同一个线程里，只能轮流进行。网络并不慢。
# </details>
#
# ## 原因与上限
#
# 等待数据的时间就是上限：无论怎样改进加载，最多省这么多。**预测**：把加载移到两个工作进程
# （`num_workers=2`），每步能省多少毫秒？

# %% [markdown] lang="en"
# <details><summary>What was seen (decide first)</summary>
#
# For most of the step no operator runs: `enumerate(DataLoader)` decodes 32 images, pixel after pixel in Python (295,000
# rounds of a loop a step). With `num_workers=0` loading and training share one thread and take turns. The network is
# not slow.
# </details>
#
# ## Cause and bound
#
# The time spent waiting for data is the bound: no change to loading can save more. **Predict**: how many milliseconds a
# step does it save to move loading into two worker processes (`num_workers=2`)?

# %% tags=["nbval-ignore-output"]
waits = {found.rule: found for found in parts["time_by_kind"].findings}["PRF313"]
print(waits.message(lang), waits.hint(lang), sep="\n")

# %%
second = measure("workers", ("num_workers=0", "num_workers=2, persistent_workers=True"))
print("recorded steps:", len(measured["workers"]["time_by_kind"].facts["steps"]))

# %% [markdown] lang="zh"
# 与第一次对比。`analyse(目标, baseline=基线)` 把每步的差异分到各行，各行之和等于总差异。
# 先看“是否可比”，再看“等待数据”一行。

# %% [markdown] lang="en"
# Held against the first: `analyse(target, baseline=baseline)` splits the difference of a step into rows that add up to
# it. Look at whether the two can be compared, then at the row "waiting for data".

# %% tags=["nbval-ignore-output"]
change = analyse(second.facts["profile"], baseline=first.facts["profile"])
print(change.verdict(lang))
run.picture(change.parts[1])

# %% [markdown] lang="zh"
# <details><summary>为什么没有省下全部？</summary>
#
# 工作进程没有减少工作，只是移到了别的核上：有空闲的核，等待就被训练掩盖；核都忙时，计算会变慢，省下的比上限少，
# 甚至一步比原来还长（看“计算”一行多了多少）。这正是上限的含义：最多，而不是一定。
# </details>
#
# ## 另一种改法：减少工作
#
# 逐像素的 Python 循环可以换成一次张量运算。**预测**：不用工作进程，只改解码，会比上一种更快还是更慢？

# %% [markdown] lang="en"
# <details><summary>Why was not all of it saved?</summary>
#
# Workers do not remove work, they move it to other cores. Where cores are idle, the training hides the waiting; where
# all are busy, computing gets slower and less than the bound is saved, or the step even takes longer than before (see
# by how much the row "computing" grew). That is what a bound means: at most.
# </details>
#
# ## Another change: less work
#
# The loop over pixels in Python can be one operation on a tensor. **Predict**: with the decoding changed and no
# workers, is it faster or slower than the change before?

# %%
old = """        image = [[(pixels[row * SIZE + x] / 255) ** 0.8 - 0.5 for x in range(SIZE)] for row in range(SIZE)]
        return torch.tensor(image).unsqueeze(0), index % 10"""
new = """        image = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).view(1, SIZE, SIZE)
        return (image / 255) ** 0.8 - 0.5, index % 10"""
third = measure("arrays", (old, new))
print("recorded steps:", len(measured["arrays"]["time_by_kind"].facts["steps"]))

# %% tags=["nbval-ignore-output"]
change = analyse(third.facts["profile"], baseline=first.facts["profile"])
print(change.verdict(lang))
run.picture(change.parts[1])

# %% [markdown] lang="zh"
# 加载只剩一小部分。接下来谁最大？**先预测**，再看每步的调用次数：网络有四个卷积，为什么会有这么多 `aten::item`？

# %% [markdown] lang="en"
# Little is left of loading. What is largest now? **Predict**, then look at the calls a step: the network has four
# convolutions, so why are there so many `aten::item`?


# %%
def calls(name, *operators):
    found = measured[name]["top_operators"].facts["calls_per_step"]
    return {one: found.get(one, 0) for one in operators}


print(calls("arrays", "aten::convolution", "aten::item", "aten::linalg_vector_norm"))

# %% [markdown] lang="zh"
# <details><summary>原因</summary>
#
# `watch` 对每个参数的梯度各求两个数，并用 `.item()` 取回。在 CPU 上，代价是许多很小的算子；在 GPU 和 NPU 上代价更大：
# 每个 `.item()` 都让主机等待设备做完所有已下发的工作，设备随后空等主机。没有人每一步都读这些数。
# </details>
#
# ## 每百步记录一次

# %% [markdown] lang="en"
# <details><summary>The cause</summary>
#
# `watch` takes two numbers of every parameter's gradient and fetches them by `.item()`. On a CPU that is many small
# operators. On a GPU or an NPU it is worse: each `.item()` makes the host wait until the device has done all it was
# given, and then the device waits for the host. Nobody reads these numbers at every step.
# </details>
#
# ## Watched every hundredth step

# %%
fourth = measure("both", (old, new), ("seen = watch(model)", "seen = watch(model) if step % 100 == 0 else seen"))
print(calls("both", "aten::item", "aten::linalg_vector_norm"))

# %% [markdown] lang="zh"
# `aten::item` 每步剩下一次：打印损失。它也可以隔若干步再做。
#
# 下面比较第三次与第四次。**先问差异是不是真的**：卷积没有改动，它那几行的差异就是两次测量之间机器忙闲的不同；
# `watch` 的代价只看“仅基线”和次数不同的几行。在这台没有设备的机器上它很小，课上讲的同步代价要在 GPU 或 NPU 上才看得到。

# %% [markdown] lang="en"
# One `aten::item` a step is left: the loss that is printed. It could wait for every so many steps too.
#
# Below, the fourth measurement against the third. **Ask first whether a difference is real**: convolutions were not
# changed, so what their rows differ by is how busy the machine was each time. What `watch` cost stands in the rows
# "baseline only" and those with other calls. Without a device it is small: the waiting spoken of above shows on a GPU or
# an NPU alone.

# %% tags=["nbval-ignore-output"]
change = analyse(fourth.facts["profile"], baseline=third.facts["profile"])
print(change.verdict(lang))
change.parts[2]

# %% [markdown] lang="zh"
# ## 四次测量
#
# 快了多少？算的还是同一件事吗？第二个问题更重要：改快了却算错了，就不是优化。

# %% [markdown] lang="en"
# ## Four measurements
#
# How much faster is it, and does it still compute the same? The second question comes first: what is fast and wrong is
# no improvement.

# %% tags=["nbval-ignore-output"]
for name, found in measured.items():
    facts = found["time_by_kind"].facts
    waiting = facts["parts_ns"]["loading"] / 1e6
    print(f"{name:<8} {facts['step_ns'] / 1e6:8.1f} ms a step, of them {waiting:6.1f} ms waiting for data")

# %%
step_ns = {name: found["time_by_kind"].facts["step_ns"] for name, found in measured.items()}
losses = [one.facts["losses"] for one in (first, second, third, fourth)]
apart = max(abs(a - b) for other in losses[1:] for a, b in zip(losses[0], other))
print("the changed loop is faster than the first:", step_ns["both"] < step_ns["first"])
print("losses agree within 0.0001:", apart < 1e-4)

# %% [markdown] lang="zh"
# **最后的练习**：先预测，再修改并运行。
#
# 1. 同时使用数组解码与两个工作进程：还会更快吗？
# 2. 把 `blocks=3` 改成 `blocks=30`：加载还值得改吗？上限是多少？
#
# <details><summary>答案</summary>
#
# 1. 几乎不会：加载只剩几毫秒，而把张量从工作进程取回也要这么久。先减少工作，再移动工作。
# 2. 上限（毫秒）不变，占比变小。同一段加载时间在大网络上可以完全被掩盖（有工作进程时），不值得先做。
#    先看占比，再动手。
# </details>
#
# ## 学到了什么
#
# - 先测量，再动手：预测与实测的差距，就是猜测要付的代价。
# - 一部分所占的时间是改进它的上限；工作进程移动工作，数组运算减少工作。
# - `.item()` 让主机等设备：日志隔若干步再取数。
# - 先证明损失没变，再谈快了多少。
#
# 下一课：[05 练习](05_exercises.ipynb)，六个真正坏掉的东西。

# %% [markdown] lang="en"
# **Last exercise**: predict, change, run.
#
# 1. Decoding by arrays and two workers together: is it faster still?
# 2. `blocks=30` in place of `blocks=3`: is loading worth a change now? What is the bound?
#
# <details><summary>Answer</summary>
#
# 1. Hardly: some milliseconds of loading are left, and fetching tensors from a worker takes as long. Remove work
#    first, move what is left.
# 2. The bound in milliseconds stays, its share shrinks. With workers a large network hides the same loading wholly, and
#    it is not the first thing to do. Look at the share before you change anything.
# </details>
#
# ## What was learnt
#
# - Measure, then change: how far the prediction was off is what guessing would have cost.
# - What a part takes is the most that changing it can save; workers move work, arrays remove it.
# - `.item()` makes the host wait for the device: fetch what is logged every so many steps.
# - Prove that the losses have stayed, then speak of how much faster it is.
#
# Next: [05 exercises](05_exercises.ipynb): six things that are really broken.
