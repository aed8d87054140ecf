# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 课程 3.2：损失为什么一动不动？
#
# | 时间 | 硬件 | 需要先会 |
# |---|---|---|
# | 阅读与思考 35 分钟，运行约 80 秒 | 任意机器；没有 NPU 时使用模拟 NPU | [课程 3.1](03_divergence.ipynb) |
#
# 同一个脚本，float32 训练正常，换成 float16 之后损失四十步一个数字都没有变：不报错，不出现 NaN，进度条照走。
# 本课先看这次失败的运行，请你预测原因，再用数据揭晓；然后用同样的数据推算损失缩放应取多大，并看着它在训练中变化。
#
# 不需要 NPU：训练在模拟 NPU 上进行，使用真正的 torch_npu 的 autocast 与 GradScaler；数值由 CPU 计算，报告中会注明
# simulated。有 NPU 时把 `device` 改为 `npu` 即可。
#
# **学完之后**，你能看出梯度下溢，由梯度的直方图选取损失缩放，读懂动态缩放的每一次升降，并说出哪些算子必须留在 float32。

# %% [markdown] lang="en"
# # Course 3.2: why does the loss not move?
#
# | time | hardware | known before |
# |---|---|---|
# | 35 minutes to read and think, about 80 s to run | any machine; without an NPU the simulated one | [course 3.1](03_divergence.ipynb) |
#
# One script. In float32 it trains well; in float16 not a digit of the loss changes over forty steps: no error, no NaN,
# the progress bar goes on. This lesson opens with the failing run, asks what you think, and reveals the cause from the
# data. The same data then say how large the loss scale should be, and you watch it move while the training runs.
#
# No NPU is needed: the training runs on the simulated NPU with torch_npu's real autocast and GradScaler; the CPU
# computes the values, and reports say simulated. With an NPU, set `device` to `npu`.
#
# **Afterwards** you can see gradients underflow, choose a loss scale by their histogram, read every move of a dynamic one,
# and say which operators must stay in float32.

# %% tags=["parameters"]
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "npu-simulated"  # auto | npu | npu-simulated | cuda | cpu; npu means a real one / npu 指真实 NPU
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录
guess: str = ""  # your prediction, why the loss does not move / 你预测损失为何不动: rate | data | forward | backward
scale_guess: int = 0  # your prediction, the loss scale as a power of two / 你预测的损失缩放，2 的几次方

# %%
from concurrent.futures import ThreadPoolExecutor

from course.lessons.prediction import predicted
from helpers import advise, capture, curves, devices
from helpers.boxes import LiveScale
from helpers.devices import LaunchSpec, launch
from helpers.notebook import begin
from helpers.precision import gradient_exponents, read_dump, scale_history, scale_moves
from helpers.precision import read_curve as read

run = begin("course_mixed_precision", lang, run_dir, device)
script = run.path("notebooks/course/scripts/half_net.py")

# %% [markdown] lang="zh"
# ## 失败的运行
#
# 网络从图像中读出每个像素的位移，以毫米给出；损失以平方米计算。`--dtype fp16` 时前向在 autocast 中运行。
# 下面两次训练只有数据类型不同：基线为 float32，NPU 一侧为 float16，没有损失缩放。

# %% [markdown] lang="en"
# ## The failing run
#
# The network reads the displacement of every pixel from an image, in millimetres; the loss is taken in metres. With
# `--dtype fp16` the forward runs under autocast. The two trainings below differ in dtype alone: float32 on the
# baseline, float16 without a loss scale on the NPU.


# %%
def train(name, where, *arguments, live=None):
    found = devices.baseline() if where == "baseline" else devices.find(where)
    wanted = LaunchSpec(script=script, args=arguments, out=run.folder / name, timeout_s=300)
    result = launch(wanted.on(found), live)
    assert result.ok, result.trouble
    return result.output_path


with ThreadPoolExecutor(2) as pool:
    waiting = [pool.submit(train, "fp32", "baseline"), pool.submit(train, "fp16", device, "--dtype", "fp16")]
single, half = (one.result() for one in waiting)

# %%
run.picture(curves(single, half))

# %% [markdown] lang="zh"
# 第一步的损失两侧几乎相同，之后 float16 的损失是一条直线。**先预测**，并写进参数 `guess`：
#
# - `rate`：学习率对 float16 来说太小
# - `data`：每一步读到的是不同的数据
# - `forward`：前向的舍入误差太大，模型看不见差别
# - `backward`：反向没有给出可用的梯度

# %% [markdown] lang="en"
# The first losses nearly agree; after that float16's is a straight line. **Predict first**, and write it into the
# parameter `guess`:
#
# - `rate`: the learning rate is too small for float16
# - `data`: the two sides read other data
# - `forward`: the forward rounds so coarsely that the model sees no difference
# - `backward`: the backward gives no gradients that are of use

# %%
for name, path in {"float32": single, "float16": half}.items():
    print(f"{name}: share of the gradients that are 0 at step 1:", read(path).series["zero_gradients"].values[0])
print(predicted("guess", guess, "backward", lang))

# %% [markdown] lang="zh"
# <details><summary>原因（先自己判断）</summary>
#
# 前向没有问题：第一步的损失相差不到千分之一。数据也一样。可是 float16 一侧**所有**梯度都恰好是 0：优化器每步加上的
# 更新也是 0，再大的学习率也无济于事。损失以平方米计，约为 5e-7，梯度更小；float16 最小的数约为 6e-8，
# 比它的一半还小的数舍入为 0。这叫下溢，它不产生 inf 或 NaN，因此没有任何报错。
# </details>
#
# ## 梯度在哪里
#
# 采集 float32 基线的第一步，数一数反向中每个算子给出的每个梯度（不只是参数的）落在 2 的几次方。黄线依次是 float16 最小的数、
# 最小的规格化数和上界。

# %% [markdown] lang="en"
# <details><summary>The cause (decide first)</summary>
#
# The forward is fine: the first losses differ by less than a thousandth. The data are the same. But on float16's side
# **every** gradient is exactly 0, so the optimizer adds 0 at each step, whatever the learning rate. The loss is in
# square metres, about 5e-7, its gradients smaller still. float16's smallest number is about 6e-8; what is below half of
# it is rounded to 0. This is underflow: it makes neither inf nor NaN, and so nothing is reported.
# </details>
#
# ## Where the gradients lie
#
# Capture the first step of the float32 baseline, and count every gradient that an operator of the backward gives out, not
# the parameters' alone, by its power of two. The yellow lines are float16's smallest number, its smallest normal one,
# and its upper end.

# %%
full = {"steps": 1, "estimate": False, "force": True, "level": "mix"}
capture(script, out=run.folder / "gradients", device="baseline", **full)
bare = gradient_exponents(run.folder / "gradients")
run.picture(bare)

# %%
print(bare.verdict(lang))

# %% [markdown] lang="zh"
# 几乎所有梯度都在 float16 的左边之外，右边却有三十多个 2 的幂空着。（为什么刚才是 100 %，这里却是 99.7 %？反向是一连串乘法：
# 前面的梯度一旦变成 0，由它得到的也都如此。）损失乘以 S，反向中每个梯度就都乘以 S（链式法则），
# 整座山向右移 log2(S)；更新之前再除以 S。这就是**损失缩放**。
#
# **先预测**：S 取 2 的几次方最好？写进 `scale_guess`。太小会怎样，太大又会怎样？

# %% [markdown] lang="en"
# Nearly all gradients lie beyond float16's left end, while more than thirty powers of two stand empty at its right. (Why
# 100 % before and 99.7 % here? The backward is a chain of products: once one gradient is 0, so is all that comes of it.)
# Multiply the loss by S, and the chain rule multiplies every gradient by S: the hill moves right by log2(S). Before the
# update they are divided by S again. This is **loss scaling**.
#
# **Predict**: which power of two is best for S? Write it into `scale_guess`. What happens below it, what above?

# %%
for power in sorted({16, scale_guess or 16, 30, 36}):
    print(f"2**{power}:", gradient_exponents(run.folder / "gradients", scale=2**power).verdict(lang))
print(bare.headline.hint(lang))

# %%
moved = gradient_exponents(run.folder / "gradients", scale=2.0**30)
run.picture(moved)

# %% [markdown] lang="zh"
# <details><summary>看到了什么</summary>
#
# 图的横轴仍是未缩放的梯度，所以山没有动，是 float16 的三条线左移了 30，相对位置与山右移 30 相同。
# GradScaler 默认从 `2**16` = 65536 开始，这里仍有七成的梯度变为 0。上界由最大的梯度决定，下界由大多数梯度决定，在两者之间的
# 缩放都可以。
# </details>
#
# ## 小一些会怎样
#
# 直方图数的是每一个值，优化器用到的却是参数的梯度，每个都是许多值之和。**先预测**：缩放取 `2**4`、`2**8`、`2**16`、`2**30` 时，
# 四十步之后的损失各会怎样？哪一种最危险？

# %% [markdown] lang="en"
# <details><summary>What was seen</summary>
#
# The axis still shows the gradients unscaled. So the hill stays, and float16's three lines moved left by 30: seen from
# the lines, the hill moved right by 30.
# GradScaler starts from `2**16` = 65536 unless told otherwise; here seven gradients in ten still become 0 with it. The
# largest gradient sets the upper bound, the bulk of them the lower; any scale between serves.
# </details>
#
# ## And a scale that is too small
#
# The histogram counts every single value. What the optimizer sees are the gradients of parameters, each a sum over many
# of them. **Predict**: what becomes of the loss in forty steps with `2**4`, `2**8`, `2**16` and `2**30`, and which is the most
# dangerous?

# %%
for power in (4, 8, 16, 30):
    scale = str(2**power)
    series = read(train(f"scale_{power}", device, "--dtype", "fp16", "--scaler", "static", "--scale", scale)).series
    ends = [f"{series[name].values[at]:.3g}" for name in ("loss", "zero_gradients") for at in (0, 39)]
    print(f"2**{power}: loss {ends[0]} -> {ends[1]}, share of parameters' gradients that are 0: {ends[2]} -> {ends[3]}")

# %% [markdown] lang="zh"
# <details><summary>看到了什么（float32 的损失降到 1.31e-08）</summary>
#
# - `2**4` 最危险：损失降了四成，看上去在学习；可是第一步 99 % 以上的参数梯度就是 0，只有最后的线性层在更新，前面的层什么也没学到，
#   后来连它也停了。只看损失不会发现。
# - `2**8`：开始时几乎没有 0，随着损失变小，梯度也变小，到第 40 步七成以上又成了 0，损失是 float32 的两倍。
# - `2**16`：参数的梯度没有一个是 0，损失只差几个百分点。逐个值丢掉七成，和却还在：丢掉的是最小的那些。
# - `2**30`：与 float32 几乎相同。直方图给出的下界偏于保守，它要求几乎什么也不丢；梯度还会继续变小，余量正是为此而留。
# </details>
#
# ## 看着它变化
#
# 没有人每次都先采集一遍：**动态**损失缩放自己寻找上界。规则只有两条：出现 inf 或 NaN，跳过这次更新并减半；
# 连续 `growth_interval` 步没有出现，加倍。下面从过大的 `2**40` 开始，`growth_interval` 取 8（默认为 2000）。
#
# **先预测**：它会停在 2 的几次方？依据上面的直方图。之后会一直停在那里吗？

# %% [markdown] lang="en"
# <details><summary>What was seen (float32's loss falls to 1.31e-08)</summary>
#
# - `2**4` is the dangerous one. The loss falls by four tenths and seems to learn; yet more than 99 % of the parameters'
#   gradients are 0 from the first step on. Only the last linear layer is updated, those before it learn nothing, and
#   later that one stands still too. The loss alone does not tell.
# - `2**8`: hardly a 0 at first. As the loss gets smaller its gradients do, and by step 40 more than seven in ten are 0
#   again; the loss is twice float32's.
# - `2**16`: not one parameter's gradient is 0, and the loss is off by some percent. Seven values in ten are lost and their
#   sum is still there: the lost ones are the smallest.
# - `2**30`: nearly float32's. The histogram's lower bound is on the safe side, it wants hardly anything lost; gradients go
#   on shrinking, and the room is for that.
# </details>
#
# ## Watch it move
#
# Nobody captures first every time: a **dynamic** loss scale finds the upper bound by itself. There are two rules. Where
# an inf or NaN turns up, leave this update out and halve the scale. After `growth_interval` steps without one, double
# it. Below it starts too high, from `2**40`, with a `growth_interval` of 8 (the default is 2000).
#
# **Predict**: at which power of two will it stop falling? Read it off the histogram. Will it stay there?

# %% tags=["widget", "nbval-ignore-output"]
live = LiveScale(lang)
live.box

# %%
scaling = f"--dtype fp16 --scaler dynamic --scale {2**40} --growth-interval 8 --steps 60"
dynamic = train("dynamic", device, *scaling.split(), live=live)
live.finish()

# %%
run.picture(scale_history(dynamic, tier=devices.find(device).tier))

# %%
changes = scale_moves(dynamic, tier=devices.find(device).tier)
changes

# %%
floor = min(read(dynamic).series["loss_scale"].values)
print("the scale stopped falling at", floor, "| the histogram of float32 said", bare.facts["highest_scale"])

# %% [markdown] lang="zh"
# <details><summary>数据说明了什么</summary>
#
# 它停在直方图给出的上界：第一步最大的梯度乘以这个缩放刚好不超过 65504。每次下降都是一次测量：
# 某个梯度超过了 65504 / S。之后它又增长，因为模型在学习，损失变小，梯度也随之变小；每次试探过头就退回，
# 代价是跳过一步。几千步中跳过几步是正常的；一路降到最小值则不正常：那不是缩放的问题，而是梯度本身已是 inf 或 NaN。
#
# 表中最初的几次下降没有更新，损失因此不变，图的下半部分看得见。表从 `2**39` 开始，是因为缩放在一步结束时记录：
# 第一步就已从 `2**40` 减半。所以它列出 8 次下降，而跳过的更新是 9 次。
# </details>
#
# ## 太大，而且没有人检查
#
# **静态**缩放是一个固定的数：脚本自己乘、自己除，不检查 inf。下面用 `2**36`。**先预测**：损失会怎样？

# %% [markdown] lang="en"
# <details><summary>What the data say</summary>
#
# It stopped at the bound that the histogram gave: the first step's largest gradient times this scale is just below
# the largest float16, 65504. Every fall is a measurement: some gradient was above 65504 / S. Then it grows again,
# because the model learns: the loss gets smaller, and its gradients with it. Each time it tries too much it steps back, at
# the price of one update. A few left out in thousands is normal. Falling all the way to the minimum is not: then the
# scale is not to blame, the gradients themselves are inf or NaN.
#
# During the first falls nothing was updated, so the loss stood still: see the lower half of the picture. The table begins
# at `2**39` because the scale is noted when a step ends, and the first step has halved `2**40` already: it lists 8 falls, and
# 9 updates were left out.
# </details>
#
# ## Too large, and nobody looks
#
# A **static** scale is one number: the script multiplies and divides by it, and does not look for inf. Here it is
# `2**36`. **Predict**: what does the loss do?

# %%
static = train("static", device, "--dtype", "fp16", "--scaler", "static", "--scale", str(2**36))
told = read(static).series["loss"].values
print("losses:", [f"{loss:.2e}" for loss in told[:4]])
broken = curves(single, static)
print(broken.status.word(lang), "| not a number from step", broken.headline.args["step"])

# %% [markdown] lang="zh"
# <details><summary>为什么</summary>
#
# 一个梯度变成 inf，除以 S 仍是 inf；优化器把它写进权重，下一步就是 NaN，再也回不来。动态缩放在同样的情况下只是跳过。
# torch_npu 的 `GradScaler(dynamic=False)` 也是静态缩放：它同样**不检查** inf，见其
# [源码](https://github.com/Ascend/pytorch/blob/master/torch_npu/npu/amp/grad_scaler.py)。静态缩放省去检查的同步，
# 只适合梯度范围已知而且稳定的训练。
# </details>
#
# ## bfloat16
#
# bfloat16 与 float32 的指数位相同，尾数只有 7 位。**先预测**：它需要损失缩放吗？最后的损失会更好还是更差？

# %% [markdown] lang="en"
# <details><summary>Why</summary>
#
# One gradient becomes inf, and divided by S it is inf still. The optimizer writes it into the weights, the next step is
# NaN, and there is no way back. A dynamic scale would just have left the update out. torch_npu's
# `GradScaler(dynamic=False)` is a static scale too and **does not look** for inf, see
# [its source](https://github.com/Ascend/pytorch/blob/master/torch_npu/npu/amp/grad_scaler.py). It saves the
# synchronisation that looking costs, and is for trainings whose gradients have a known and steady range.
# </details>
#
# ## bfloat16
#
# bfloat16 has float32's exponent and 7 bits of mantissa. **Predict**: does it need a loss scale? Will its last loss be
# better or worse?

# %%
brain = train("bf16", device, "--dtype", "bf16")
trainings = {"float32": single, "bfloat16": brain, "float16, no scale": half, "float16, dynamic": dynamic}
for name, path in trainings.items():
    values = read(path).series["loss"].values
    print(f"{name:<18} loss {values[0]:.3e} -> {values[39]:.3e} at step 40")

# %% [markdown] lang="zh"
# <details><summary>看到了什么</summary>
#
# bfloat16 不缩放也能学习：梯度在它的范围之内。代价是精度：相邻两数相差近百分之一（float16 为千分之一），
# 所以第一步的损失就与 float32 相差更多。float16 动态缩放晚了几步，因为最初的更新被跳过。
# Atlas A2 及以上支持 bfloat16，上一代 Ascend 910 没有，只能用 float16 加损失缩放；`ascend-workbook check` 会给出代次。
# </details>
#
# ## 哪些算子必须留在 float32
#
# autocast 不是把一切都变成 16 位。下面采集 float16 一侧的第一步，列出每个算子输出的数据类型。
# **先预测**：softmax、layer_norm、mse_loss、linear 各是哪一种？

# %% [markdown] lang="en"
# <details><summary>What was seen</summary>
#
# bfloat16 learns without a scale: the gradients are within its range. It pays in digits: neighbouring numbers are
# nearly a hundredth apart (a thousandth in float16), and already its first loss is further from float32's. float16 with
# the dynamic scale comes some steps later, because its first updates were left out. Atlas A2 and later have bfloat16;
# the Ascend 910 before it has not and needs float16 with a loss scale. `ascend-workbook check` names the generation.
# </details>
#
# ## Which operators must stay in float32
#
# Autocast does not make everything 16 bits wide. Capture the first step of float16's side and list the dtype that each
# operator gives out. **Predict**: which is it for softmax, layer_norm, mse_loss, linear?

# %%
capture(script, ["--dtype", "fp16"], out=run.folder / "half", device=device, **full)
operators = [one for part in read_dump(run.folder / "half" / "dump") for one in part.operators if not one.is_module]
for one in operators:
    if one.direction == "forward" and one.outputs and "Functional" in one.name:
        print(f"{one.api:<12} {one.outputs[0].dtype}")

# %% [markdown] lang="zh"
# 卷积、矩阵乘是计算量所在，用 16 位，累加在硬件中以 float32 进行。求和、指数、归一化和损失留在 float32：

# %% [markdown] lang="en"
# Convolutions and matrix products are where the work is: 16 bits, with sums kept in float32 by the hardware. Sums,
# exponentials, norms and losses stay in float32, and here is why:

# %%
import numpy as np

half_of = np.float16
with np.errstate(over="ignore"):
    print("exp(12):", float(np.exp(half_of(12))), "| 300 * 300:", float(half_of(300) * half_of(300)))
print("2048 + 1:", float(half_of(2048) + half_of(1)), "| 1 + 1e-4:", float(half_of(1) + half_of(1e-4)))

# %% [markdown] lang="zh"
# <details><summary>四个数说明的事</summary>
#
# 1. `exp(12)` 溢出：softmax 与交叉熵要用 float32。
# 2. `300 * 300` 溢出：方差、范数中的平方要用 float32。
# 3. `2048 + 1` 不变：长的求和（均值、损失）会停止增长。
# 4. `1 + 1e-4` 不变：权重为 1、更新为 1e-4 时，更新丢失。所以权重要有一份 float32 的副本。
#
# 第四点正是 O1 与 O2 的区别（[apex](https://nvidia.github.io/apex/amp.html) 的叫法）：**O1** 权重是 float32，逐算子决定
# 是否转换，即 `torch.autocast`；**O2** 模型本身转成 float16（归一化除外），另存 float32 主权重由优化器更新。
# PyTorch 自带的只有 O1；`model.half()` 加普通优化器不是 O2，而是丢失更新的 float16 训练。
# 算子清单见 [PyTorch 文档](https://docs.pytorch.org/docs/stable/amp.html#cuda-ops-that-can-autocast-to-float16)。
# </details>
#
# ## 工具怎么说
#
# 请把自己的判断与 `curves` 和 `advise` 对照。`curves` 读两侧的日志，其中有损失缩放的历史；`advise` 比较同一命令在两侧的采集：
# 这里是基线与 NPU 上的 `--dtype fp16`。

# %% [markdown] lang="en"
# <details><summary>What the four numbers say</summary>
#
# 1. `exp(12)` overflows: softmax and cross entropy want float32.
# 2. `300 * 300` overflows: so do the squares within variances and norms.
# 3. `2048 + 1` stays: a long sum (a mean, a loss) stops growing.
# 4. `1 + 1e-4` stays: with a weight of 1 an update of 1e-4 is lost. Weights need a copy in float32.
#
# The fourth parts O1 from O2, in the words of [apex](https://nvidia.github.io/apex/amp.html). **O1**: weights are
# float32 and each operator's inputs are cast or not, which is `torch.autocast`. **O2**: the model itself becomes float16
# (norms apart), and the optimizer updates float32 master weights beside it. PyTorch itself has O1 alone; `model.half()`
# with a plain optimizer is not O2, it is float16 training that loses updates. The lists of operators are in
# [PyTorch's documentation](https://docs.pytorch.org/docs/stable/amp.html#cuda-ops-that-can-autocast-to-float16).
# </details>
#
# ## What the tools say
#
# Hold your own judgement against `curves` and `advise`. `curves` reads both logs, the history of the loss scale among
# them; `advise` reads captures of one and the same command: here `--dtype fp16` on the baseline and on the NPU.

# %%
both = curves(single, dynamic)
for found in both.findings:
    if found.rule == "ACC254":
        print(found.message(lang), found.hint(lang), sep="\n")
print("loss scale of the target:", {name: both.facts["loss_scale"][1][name] for name in ("falls", "lowest", "last")})

# %%
capture(script, ["--dtype", "fp16"], out=run.folder / "half_baseline", device="baseline", **full)
advice = run.save(advise(run.folder / "half_baseline", run.folder / "half"), "advice")
for found in advice.findings:
    if found.rule == "ACC262":
        print(found.message(lang), found.hint(lang), sep="\n")

# %% [markdown] lang="zh"
# ## NPU 上有什么不同
#
# - **溢出模式**。Atlas A2 及以上默认与 GPU 一样产生 inf 与 NaN（INF_NAN 模式）；`INF_NAN_MODE_ENABLE=0` 则为饱和模式，
#   超出范围的数停在 65504
#   （[文档](https://www.hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_004.html)）。
#   上一代只有饱和模式，溢出记在设备的状态位中，由 torch_npu 的 GradScaler 读取；自己写的 `isinf` 检查看不见。
# - **HF32**。float32 的卷积可能以 HF32 计算，尾数更短、范围不变，因此它不影响下溢，却会影响与基线的比对。
# - **GradScaler 的同步**。检查结果要取回主机，每步一次；这是真实代价，不是故障。
#
# 模拟 NPU 只有 INF_NAN 模式，饱和模式在这里用 NumPy 说明：

# %% [markdown] lang="en"
# ## What differs on an NPU
#
# - **Overflow mode.** Atlas A2 and later make inf and NaN as a GPU does (INF_NAN mode). With `INF_NAN_MODE_ENABLE=0`
#   they saturate: what is out of range stays at 65504
#   ([documentation](https://www.hiascend.com/document/detail/zh/Pytorch/600/apiref/Envvariables/Envir_004.html)). The
#   generation before only saturates; an overflow is kept in a status of the device, which torch_npu's GradScaler reads
#   and an `isinf` check of your own does not see.
# - **HF32.** Convolutions in float32 may be computed in HF32: a shorter mantissa, the same range. It does not matter to
#   underflow, but it does to a comparison with the baseline.
# - **GradScaler synchronises.** What it found must come to the host, once a step. That is a true cost, no fault.
#
# The simulated NPU has the INF_NAN mode alone; NumPy shows here what saturation does:

# %%
scaled = np.float32(0.5) * np.float32(2.0**18)
with np.errstate(over="ignore"):
    plain, saturated = half_of(scaled), half_of(np.clip(scaled, -65504, 65504))
print("a gradient of 0.5 at 2**18:", plain, "-> found, this update is left out")
print("saturated:", float(saturated), "-> unscaled", float(saturated) / 2**18, ": finite, and wrong")

# %% [markdown] lang="zh"
# **最后的练习**：先预测，再修改并运行。
#
# 1. 不改数据类型，只改脚本中的一处，使 float16 不用缩放也能学习。
# 2. `growth_interval` 改为 2：最后 40 步会跳过多少次更新？
# 3. 如果缩放一路下降到 1 以下，你先检查什么？
#
# <details><summary>答案</summary>
#
# 1. 以毫米计算损失（去掉 `METRES`）：梯度大一百万倍，即 `2**20`。合适的单位是最便宜的损失缩放。
# 2. 大约每三步一次：两步之后加倍，超出上界，退回。间隔越短，试探越勤，跳过越多；默认 2000 步试探一次。
# 3. 梯度本身是否为 inf 或 NaN（学习率、数据、前向溢出）。缩放只能移动范围，不能修复 NaN；`curves` 会在它到达最小值时报告。
# </details>
#
# ## 学到了什么
#
# - 下溢不报错：损失不动时，先看梯度中 0 的比例。
# - 缩放的上界由最大的梯度决定，下界由大多数梯度决定；动态缩放自己寻找上界，代价是偶尔跳过一步。
# - 静态缩放不检查 inf；bfloat16 不需要缩放，代价是精度。
# - 求和、指数、归一化、损失和权重的副本留在 float32。
#
# 下一课：[04 性能](04_slow_loop.ipynb)，训练循环为什么慢？

# %% [markdown] lang="en"
# **Last exercise**: predict, change, run.
#
# 1. Keep the dtype and change one place of the script, so that float16 learns without a scale.
# 2. Set `growth_interval` to 2: how many updates are left out in the last 40 steps?
# 3. A scale falls all the way below 1. What do you look at first?
#
# <details><summary>Answer</summary>
#
# 1. Take the loss in millimetres (without `METRES`): gradients become a million times, or `2**20`, larger. A fitting unit
#    is the cheapest loss scale.
# 2. About one in three: after two steps it doubles, goes beyond the bound, and steps back. A shorter interval tries
#    more often and leaves out more; the default tries once in 2000 steps.
# 3. Whether the gradients themselves are inf or NaN (learning rate, data, an overflow in the forward). A scale moves
#    the range, it does not mend a NaN; `curves` tells when it has reached its minimum.
# </details>
#
# ## What was learnt
#
# - Underflow reports nothing: where a loss does not move, look at the share of gradients that are 0.
# - The largest gradient bounds the scale from above, the bulk of them from below; a dynamic scale finds the upper bound by
#   itself, and pays with an update now and then.
# - A static scale does not look for inf; bfloat16 needs no scale and pays in digits.
# - Sums, exponentials, norms, losses and a copy of the weights stay in float32.
#
# Next: [04 profiling](04_slow_loop.ipynb): why is the loop slow?
