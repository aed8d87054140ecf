# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 课程 2：加一行就够了吗？
#
# | 时间 | 硬件 | 需要先会 |
# |---|---|---|
# | 阅读与思考 25 分钟，运行约 60 秒 | 任意机器；没有 NPU 时使用模拟 NPU | [课程 0](00_start.ipynb)、[课程 1](01_environment.ipynb) |
#
# 一个 50 行的 GPU 训练脚本。迁移它只要加一行，网上都这么说。真的够吗？怎样才算够？
#
# **学完之后**，你能说出哪些 CUDA 用法会报错、哪些会悄悄改变结果；会用 `scan` 找到后者，用 `rewrite` 修改，用 `dry-run`
# 验证，并知道 `dry-run` 在什么时候会说错。
#
# **先预测，再看答案**：预测写在参数里。

# %% [markdown] lang="en"
# # Course 2: is one more line enough?
#
# | time | hardware | known before |
# |---|---|---|
# | 25 minutes to read and think, about 60 s to run | any machine; without an NPU the simulated one | courses [0](00_start.ipynb) and [1](01_environment.ipynb) |
#
# A training script of 50 lines, made for a GPU. One more line migrates it, the web says. Is that enough, and how would
# one know?
#
# **Afterwards** you can tell which uses of CUDA raise and which quietly change the result; you find the latter by
# `scan`, change them by `rewrite`, prove it by `dry-run`, and know when `dry-run` misleads.
#
# **Predict, then look**: predictions are parameters.

# %% tags=["parameters"]
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "auto"  # auto | npu | npu-simulated; npu means a real one / npu 指真实 NPU
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录
steps: int = 4  # optimizer steps of each dry run / 每次试运行的优化步数
first_to_fail: str = ""  # which call fails first / 预测最先报错的调用: set_device | benchmark | cuda | synchronize
places: int = 0  # your prediction, how many places use CUDA / 预测有几处用到 CUDA
one_line: str = ""  # your prediction, with the one line it / 加了一行之后: fails | right | wrong
one_more: str = ""  # your prediction, 100000000 + 1 - 100000000 in float64 on the NPU / 在 NPU 上的结果: 1 | 0

# %%
import re

from course.lessons.child import on_device, raised, run_script
from course.lessons.prediction import predicted
from helpers import dry_run, rewrite, scan
from helpers.devices import find
from helpers.notebook import begin

run = begin("course", lang, run_dir, device)
npu = on_device(find(device).tier)
script = run.path("notebooks/course/scripts/blobs.py")

# %% [markdown] lang="zh"
# ## 现场
#
# 读一遍脚本。它把平面上的点分成三类，少数点离得很远，所以作者裁剪了梯度。

# %% [markdown] lang="en"
# ## The scene
#
# Read the script. It sorts points of the plane into three classes; a few points lie far out, so its author clips the
# gradients.

# %%
text = script.read_text(encoding="utf-8")
print(text[text.index("def limit") : text.index("if __name__")])

# %% [markdown] lang="zh"
# **先预测**两件事：原样放到 NPU 上，哪个调用最先报错（参数 `first_to_fail`）？整个脚本有几处用到 CUDA（参数 `places`）？
#
# 然后看它怎样失败：

# %% [markdown] lang="en"
# **Predict** two things: unchanged on an NPU, which call fails first (parameter `first_to_fail`), and at how many places
# does the script use CUDA (parameter `places`)?
#
# Then see it fail:

# %%
failed = run_script(script, npu)
print("exit code:", failed.code)
print(raised(failed.stderr).splitlines()[-1])

# %%
lines = re.findall(r'blobs\.py", line \d+, in main\n\s+(\S+)\(', failed.stderr)
print("the line:", lines[0])
print(predicted("first_to_fail", first_to_fail, lines[0].rpartition(".")[2], lang))

# %% [markdown] lang="zh"
# 这样的失败是好事：它有位置、有原因，改完就好。真正要担心的是后面不报错的那些。
#
# ## 加一行
#
# `transfer_to_npu` 在运行时把 `torch.cuda` 的调用换成 `torch.npu`。把它（连同 `import torch_npu`）加在脚本最前面，
# 其余一个字也不改。
#
# **先预测**（参数 `one_line`）：`fails`（还会报错）、`right`（算得对）还是 `wrong`（不报错，但算得不对）？

# %% [markdown] lang="en"
# Such a failure is a good thing: it has a place and a cause. What should worry you are those that raise nothing.
#
# ## One more line
#
# `transfer_to_npu` replaces calls of `torch.cuda` by `torch.npu` at run time. Put it first, with `import torch_npu`, and
# change nothing else.
#
# **Predict** (parameter `one_line`): `fails` (something else raises), `right`, or `wrong` (raises nothing and computes
# something else)?


# %%
def with_one_line(source, name):
    file = run.folder / name
    first = "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n"
    file.write_text(first + source.read_text(encoding="utf-8"), encoding="utf-8")
    return file


quick = run_script(with_one_line(script, "one_line.py"), npu)
print("exit code:", quick.code)
print(quick.stdout or raised(quick.stderr))

# %% [markdown] lang="zh"
# 退出码 0，八步都跑完了。放到持续集成里，这就是绿色。**停一下**：输出里有没有什么不对劲？

# %% [markdown] lang="en"
# Exit code 0, eight steps done. A CI job would pass. **Stop here**: is anything in the output odd?

# %% [markdown] lang="zh"
# ## 揭晓：`scan` 逐处列出
#
# `scan` 不运行脚本，而是按导入关系解析名称，列出每一处 CUDA 用法，以及 NPU 上会怎样。看第三列的类别：`auto` 由
# `transfer_to_npu` 处理，`rewrite` 必须改源码，`advice` 只是提醒，不改也能运行。

# %% [markdown] lang="en"
# ## Revealed: `scan` lists each place
#
# `scan` does not run the script; it resolves names through the imports and lists each use of CUDA with what becomes of
# it on an NPU. Look at the classes in the third column: *auto* is handled by `transfer_to_npu`, *rewrite* has to
# change in the source, *advice* is a remark and runs as it stands.

# %%
seen = scan(script)
for found in sorted((each for each in seen.findings if each.place), key=lambda each: each.place.line):
    print(f"{found.place.line:>3}  {found.rule}  {found.args['class']:<8}", found.message(lang))

# %%
print(predicted("places", places, sum(seen.facts["counts"].values()), lang))
print("in the source itself:", seen.facts["counts"]["rewrite"])

# %% [markdown] lang="zh"
# 问题在 `limit`：张量在 NPU 上，`device.type` 是 `"npu"`，与 `"cuda"` 比较得 False，于是**整个梯度裁剪被跳过**。
# `transfer_to_npu` 替换的是调用，替换不了字符串的比较。没有异常，没有警告；唯一的痕迹是打印出来的 `None`。

# %% [markdown] lang="en"
# The trouble is in `limit`: on an NPU `device.type` is `"npu"`, compared with `"cuda"` it is False, and **clipping is
# skipped altogether**. `transfer_to_npu` replaces calls; it cannot replace the comparison of a string. No exception, no
# warning: the `None` that is printed is all that shows.

# %%
norms = re.findall(r"gradient norm (\S+)", quick.stdout)
what = "fails" if quick.code else "wrong" if "None" in norms else "right"
print(predicted("one_line", one_line, what, lang))

# %% [markdown] lang="zh"
# ## 修改：`rewrite`
#
# 只有“改写”类的地方会动，原文件不变；结果写到运行目录。

# %% [markdown] lang="en"
# ## Changed by `rewrite`
#
# Only what is of class *rewrite* is touched, and the original stays; the result goes into the run's folder.

# %%
changed = rewrite(script, run.folder / "migrated", expect=seen.facts["sha256"])
changed

# %%
whole = run_script(run.folder / "migrated" / script.name, npu)
print("exit code:", whole.code)
print(whole.stdout or raised(whole.stderr))

# %% [markdown] lang="zh"
# 现在打印的是梯度的范数：裁剪又生效了。两次运行都不报错，损失却不同：

# %% [markdown] lang="en"
# Now the gradients' norm is printed: clipping is back. Neither run raises anything, and their losses differ:

# %%
losses = [re.findall(r"loss (\S+)", each.stdout) for each in (quick, whole)]
print("step  one line  rewritten")
for step, (a, b) in enumerate(zip(*losses)):
    print(f"{step:<4} {a:>9}  {b:>9}")

# %% [markdown] lang="zh"
# ## 验证：`dry-run`
#
# `dry_run` 把原脚本与迁移后的脚本各跑几步，比较损失。没有 CUDA 时，原脚本由 CPU 代替运行。步从 1 数起，脚本自己打印的
# 步从 0 数起：它的第 2 步就是上面的 step 1。**先想一想**：这里会是“通过”吗？

# %% [markdown] lang="en"
# ## Proof by `dry-run`
#
# `dry_run` takes a few steps of the original and of the migrated script and compares their losses. Where there is no
# CUDA the CPU stands in for it. It counts steps from 1, the script from 0: its step 2 is step 1 above. **Think first**:
# will it be Good?

# %%
compared = dry_run(script, device=device, steps=steps, out=run.folder / "dry_run")
print(compared.verdict(lang))

# %% [markdown] lang="zh"
# <details><summary>为什么修好了反而是“待修”？（先自己想）</summary>
#
# 有 GPU 的机器上这里应当一致。没有 GPU 时，充当基线的是 CPU，而在 CPU 上 `device.type` 是 `"cpu"`：原脚本的注释写得很清楚，
# CPU 上不裁剪。错的不是迁移后的脚本，而是**基线没有走 GPU 的那条路**。反过来更危险：只加一行的脚本与这个基线
# 完全一致，试运行会给它一个漂亮而错误的“通过”。
# </details>
#
# 验证你的解释：只为这次比较，把条件改成对 `"cuda"` 和 `"cpu"` 都成立，再试运行一次。

# %% [markdown] lang="en"
# <details><summary>Mended, and Fix? (think first)</summary>
#
# On a machine with a GPU both agree. Without one the CPU is the baseline, and there `device.type` is `"cpu"`: the
# script's own docstring says that it does not clip on a CPU. Not the migrated script is wrong, but the **baseline did
# not go the GPU's way**. The other way round is worse: the script with one more line agrees with this baseline to the
# last digit, and a dry run would give it a fine, wrong Good.
# </details>
#
# Put your explanation to the test: for this comparison alone the condition holds for `"cuda"` and for `"cpu"`.

# %%
as_gpu = run.folder / "as_on_a_gpu.py"
as_gpu.write_text(text.replace('.type == "cuda"', '.type in ("cuda", "cpu")'), encoding="utf-8")
fair = dry_run(as_gpu, device=device, steps=steps, out=run.folder / "dry_run_as_on_a_gpu")
fair

# %% [markdown] lang="zh"
# 结论：迁移后的脚本与 GPU 的走法逐步一致。误差恰好为 0，是因为模拟 NPU 上两侧都由 CPU 计算；在真实 NPU 上舍入不同，误差很小但
# 不为 0，也可能逐步变大，这时用课程 3 的方法判断。记住这个教训：**试运行只能发现两侧走法不同之处；两侧都跳过的，它看不见。**
# 所以 `scan` 和 `dry-run` 缺一不可；有 GPU 时，请用 GPU 采集基线。
#
# ## 还有两处安静的意外
#
# 另一个脚本，两行计算。**先预测**（参数 `one_more`）：在 NPU 上以 float64 计算 100000000 + 1 − 100000000，得 1 还是 0？

# %% [markdown] lang="en"
# The migrated script goes the GPU's way, step by step. The error is exactly 0 because with the simulated NPU the CPU
# computes both sides. A real NPU rounds otherwise: errors are small, not 0, and may grow from step to step; course 3 has
# the means to judge them. Keep the lesson: **a dry run sees where the sides differ, and not
# what both left out.** `scan` and `dry-run` need each other; and where there is a GPU, take the baseline from it.
#
# ## Two more quiet surprises
#
# Another script, two lines of computing. **Predict** (parameter `one_more`): 100000000 + 1 - 100000000 in float64 on an
# NPU, is it 1 or 0?

# %%
quiet = run_script(with_one_line(run.path("notebooks/course/scripts/quiet.py"), "quiet.py"), npu)
print("exit code:", quiet.code)
print(quiet.stdout or raised(quiet.stderr))
print(predicted("one_more", one_more, re.search(r"= (\S+),", quiet.stdout).group(1), lang))

# %% [markdown] lang="zh"
# 退出码仍是 0，线索都在标准错误里，而批量任务往往没有人看：

# %% [markdown] lang="en"
# Exit code 0 again; what there is to see went to standard error, which nobody reads of a batch job:

# %%
for pattern in (r"Device do not support double dtype[^(]*", r"operator '[^']+' is not currently supported"):
    print(*sorted(set(re.findall(pattern, quiet.stderr))), sep="\n")

# %% [markdown] lang="zh"
# <details><summary>发生了什么</summary>
#
# 1. `.double()` 在 NPU 上得到的是 **float32**（torch_npu 自己的替换，只给一句警告）。float32 约有 7 位有效数字，存不下
#    100000001。累加损失、统计方差时用 float64 的代码，会因此悄悄失去精度。这类计算请放到 CPU 上，或改写算法。
# 2. `lgamma` 没有 NPU 内核，**回退到 CPU**：结果正确，但每次调用都要把数据搬到主机再搬回来。用
#    `ascend-workbook operators` 可以列出一步中所有回退的算子。
#
# 第一处改变结果，第二处只影响速度；两者都不会让脚本失败。
# </details>

# %% [markdown] lang="en"
# <details><summary>What happened</summary>
#
# 1. On an NPU `.double()` gives **float32** (torch_npu's own replacement, with one warning). float32 has about 7 digits
#    and cannot hold 100000001. Code that sums losses or variances in float64 quietly loses precision. Compute such
#    things on the CPU, or in another way.
# 2. `lgamma` has no NPU kernel and **falls back to the CPU**: right, but each call moves data to the host and back.
#    `ascend-workbook operators` lists every operator of a step that falls back.
#
# The first changes results, the second only costs time; neither makes a script fail.
# </details>

# %% [markdown] lang="zh"
# `scan` 看得见第一处吗？它给出的是建议（advice），因为仅凭源码无法知道这个张量最终在哪个设备上：

# %% [markdown] lang="en"
# Does `scan` see the first? As advice: the source alone does not tell on which device a tensor will lie.

# %%
for found in scan(run.path("notebooks/course/scripts/quiet.py")).findings:
    if found.rule == "MIG115":
        print(found.place.line, found.rule, found.message(lang))

# %% [markdown] lang="zh"
# **自己试一试**：先预测，再修改 `blobs.py` 的副本并扫描。
#
# 1. 把条件改写成 `if next(model.parameters()).is_cuda:`，`scan` 还能发现吗？`transfer_to_npu` 之后它是 True 还是 False？
# 2. 更好的写法是什么，使这一行在 GPU、NPU 和 CPU 上都不必再改？
#
# <details><summary>答案</summary>
#
# 1. 能发现，类别是 `auto`：`transfer_to_npu` 会让 NPU 上的张量的 `is_cuda` 为 True。漏掉的只是字符串的比较。
# 2. 不问“是不是某种设备”，而问“是不是 CPU”，或者干脆用一个命令行开关 `--clip` 表达意图。
# </details>
#
# ## 学到了什么
#
# - 报错的地方好改；字符串比较、float64、回退到 CPU 这三类不报错。
# - `transfer_to_npu` 替换调用，不替换判断。
# - `scan` 看源码，`dry-run` 看结果，两者互补；CPU 代替 GPU 作基线时，要确认它走的是 GPU 的路。
# - 退出码 0 和下降的损失都不是证据，逐步一致的损失才是。
#
# 下一课：[03 精度](03_divergence.ipynb)，损失不一致时，找出最先分开的算子。

# %% [markdown] lang="en"
# **Try it**: predict, change a copy of `blobs.py`, scan it.
#
# 1. With `if next(model.parameters()).is_cuda:` in its place, does `scan` still see it? After `transfer_to_npu`, is it
#    True or False?
# 2. How would you write the line so that it need not change between GPU, NPU and CPU?
#
# <details><summary>Answer</summary>
#
# 1. It does, with class *auto*: `transfer_to_npu` makes `is_cuda` True for a tensor on an NPU. Only comparisons of
#    strings are left out.
# 2. Do not ask whether it is this or that device but whether it is the CPU, or say what you mean by an option `--clip`.
# </details>
#
# ## What was learnt
#
# - What raises is easily mended; compared strings, float64 and CPU fallback raise nothing.
# - `transfer_to_npu` replaces calls, not decisions.
# - `scan` looks at the source, `dry-run` at results, and each needs the other; where the CPU stands in for the GPU, make
#   sure that it goes the GPU's way.
# - Neither exit code 0 nor a falling loss is proof; losses that agree step by step are.
#
# Next: [03 precision](03_divergence.ipynb): the losses differ, and the operator that parts first is to be found.
