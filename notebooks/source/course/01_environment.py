# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown] lang="zh"
# # 课程 1：一行 `import torch` 就失败
#
# | 时间 | 硬件 | 需要先会 |
# |---|---|---|
# | 阅读与思考 20 分钟，运行约 30 秒 | 任意机器；没有 NPU 时使用模拟 NPU | [课程 0](00_start.ipynb) |
#
# 一台新的机器，一个五行的脚本，昨天在 GPU 服务器上还好好的。今天第一行就报错。你来找原因。
#
# **学完之后**，你能从报错找到真正的缺失，区分“症状消失”与“问题解决”，并用 `explain` 和 `check` 证明修好了。
#
# 规则只有一条：**先预测，再看答案**。预测写在参数里，默认是空的；不写也能运行，只是少了最有收获的部分。

# %% [markdown] lang="en"
# # Course 1: one `import torch`, and it fails
#
# | time | hardware | known before |
# |---|---|---|
# | 20 minutes to read and think, about 30 s to run | any machine; without an NPU the simulated one | [course 0](00_start.ipynb) |
#
# A new machine, and a script of five lines that ran on the GPU server yesterday. Today its first line fails. Find out
# why.
#
# **Afterwards** you can get from an error to what is truly missing, tell "the symptom is gone" from "it is mended", and
# prove the mending by `explain` and `check`.
#
# There is one rule: **predict, then look**. Predictions are parameters and empty at first; all runs without them, but
# the best part is then missed.

# %% tags=["parameters"]
lang: str = "en"  # language of reports / 报告语言: en | zh
device: str = "auto"  # auto | npu | npu-simulated | cuda | cpu; npu means a real one / npu 指真实 NPU
run_dir: str = "runs/notebook"  # folder of this run / 本次运行的目录
missing: str = ""  # your prediction, what is missing / 你预测缺什么: torch | torch_npu | cann | driver
trains_on: str = ""  # where it trains after the quick fix / 预测“速效药”之后在哪里训练: npu | cpu | nowhere
culprit: str = ""  # the second case, which package / 预测第二个案件中该怪谁: torch | torch_npu | cann

# %%
from course.lessons.child import checked, raised, run_script, scene
from course.lessons.prediction import predicted
from course.lessons.supposed import supposed
from helpers import explain
from helpers.devices import child_environment, find
from helpers.environment import probe, report_on
from helpers.notebook import begin
from helpers.report import Status

run = begin("course", lang, run_dir, device)
scripts = run.path("notebooks/course/scripts")

# %% [markdown] lang="zh"
# ## 现场
#
# 脚本里没有一个字提到 NPU。`scene()` 给出出事机器的环境变量，其中缺了一样东西。失败是真的：下面启动一个新的 Python
# 进程，运行这个脚本。

# %% [markdown] lang="en"
# ## The scene
#
# The script says nothing of an NPU. `scene()` gives the environment variables of the machine in question; something is
# missing there. The failure is a real one: a new Python process runs the script.

# %%
script = scripts / "five_lines.py"
print(script.read_text(encoding="utf-8"))

# %%
broken = scene()
failed = run_script(script, broken)
print("exit code:", failed.code)
print(raised(failed.stderr))

# %% [markdown] lang="zh"
# 上面只留下了异常本身，去掉了调用栈。有两个异常：第二个是由第一个引起的。
#
# **先预测**：缺的是什么？把 `torch`、`torch_npu`、`cann` 或 `driver` 写进参数 `missing`。两条线索：
#
# 1. 报错的是 `import torch`，可 torch 明明装了。为什么它会去碰 torch_npu？
# 2. `libhccl.so` 属于课程 0 那张软件栈表中的哪一层？

# %% [markdown] lang="en"
# Only what was raised is left, without the stack. There are two exceptions, the second caused by the first.
#
# **Predict first**: what is missing? Put `torch`, `torch_npu`, `cann` or `driver` into the parameter `missing`. Two
# threads to pull:
#
# 1. `import torch` fails, and torch is installed. Why does it touch torch_npu at all?
# 2. `libhccl.so` belongs to which layer of the stack in course 0?

# %% [markdown] lang="zh"
# ## 揭晓：`explain` 读报错
#
# 把报错文字交给 `explain`（在终端中是 `ascend-workbook explain train.log`）。它取最先出现的错误，给出原因、处理办法和来源。

# %% [markdown] lang="en"
# ## Revealed: `explain` reads the error
#
# `explain` takes the text of the error (in a terminal: `ascend-workbook explain train.log`), picks the first error and
# names cause, fix and source.

# %%
told = explain(raised(failed.stderr))
told

# %%
causes = {"libhccl_missing": "cann", "libascend_hal_missing": "driver"}
seen = causes.get(told.facts["first"]["id"], told.facts["first"]["id"])
print(predicted("missing", missing, seen, lang))

# %% [markdown] lang="zh"
# **为什么 `import torch` 会牵连 torch_npu？** torch 导入时会自动加载所有登记为后端的已安装包，登记处就是下面这个
# entry point。于是一个装了却用不了的 torch_npu，会让每一个 `import torch` 失败，哪怕脚本与 NPU 毫无关系
# （[torch_npu 的安装问答](https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md)）。

# %% [markdown] lang="en"
# **Why does `import torch` drag torch_npu in?** When torch is imported it loads every installed package that registered
# as a backend, and this entry point is the register. So a torch_npu that is installed and cannot load makes every
# `import torch` fail, in scripts too that have nothing to do with an NPU
# ([torch_npu's installation FAQ](https://github.com/Ascend/pytorch/blob/9e73e708ab93/docs/zh/installation_guide/faq.md)).

# %%
asks = run.folder / "who_registers.py"
asks.write_text(
    "from importlib.metadata import entry_points\n"
    "for one in entry_points(group='torch.backends'):\n"
    "    print(one.name, '->', one.value)\n",
    encoding="utf-8",
)
print(run_script(asks, broken).stdout)

# %% [markdown] lang="zh"
# ## 揭晓：`check` 看机器
#
# 报错只说出第一个缺失的文件，`check` 则看整台机器。它在那台机器的环境中运行，不导入 torch 本身，而是让子进程去试。
# 看每条的状态和下一步。
#
# 第一行（ENV000）是总的结论：没有真实 NPU 时，`check` 会找到本机自带的模拟 NPU，说可以在它上面运行。这不是说
# 当前的环境没有问题：问题在它下面的各行里。

# %% [markdown] lang="en"
# ## Revealed: `check` looks at the machine
#
# An error names the first file that is missing; `check` looks at the whole machine. It runs in that machine's
# environment and does not import torch itself: a child tries. Look at status and next step.
#
# The first line (ENV000) is the verdict: without a real NPU `check` finds the simulated one that came with the workbook,
# and says that one can run there. It does not say that this environment is sound: what is wrong stands below it.

# %% tags=["nbval-ignore-output"]
before = checked(broken, run.folder / "check_before.json")
for found in before.findings:
    if found.status in (Status.LOOK, Status.FIX):
        print(found.status.word(lang), found.rule, found.message(lang))
        if found.hint(lang):
            print("     ", found.hint(lang))


# %%
def status_of(report, rule):
    return next(found.status.word(lang) for found in report.findings if found.rule == rule)


print("import torch:", status_of(before, "ENV051"), "| torch and torch_npu:", status_of(before, "ENV053"))

# %% [markdown] lang="zh"
# torch 与 torch_npu 是配套的（ENV053 为“通过”），所以重装它们没有用。缺的是它们下面的一层。
#
# ## 速效药
#
# 报错的最后一句自己给了一个办法：`TORCH_DEVICE_BACKEND_AUTOLOAD=0`。网上的回答也常常到此为止。
#
# **先预测**：设了它之后，一个自己选择设备的脚本（课程 0 的 `first_step.py`：有 NPU 用 NPU，否则用 CPU）会在哪里运行？
# 把 `npu`、`cpu` 或 `nowhere`（根本跑不起来）写进参数 `trains_on`。

# %% [markdown] lang="en"
# torch and torch_npu belong together (ENV053 is Good), so installing them again would not help. What is missing is the
# layer below them.
#
# ## The quick fix
#
# The error's last sentence offers a way out: `TORCH_DEVICE_BACKEND_AUTOLOAD=0`. Answers on the web often stop here too.
#
# **Predict first**: with it set, where does a script run that chooses its device itself (`first_step.py` of course 0: the
# NPU if there is one, else the CPU)? Put `npu`, `cpu` or `nowhere` (it does not run) into the parameter `trains_on`.

# %%
quick = {**broken, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
again = run_script(script, quick)
print("exit code:", again.code, "|", again.stdout.strip())

# %%
where = run_script(scripts / "first_step.py", quick)
print(where.stdout)
trained = "nowhere" if where.code else where.stdout.split("device: ")[1].split()[0]
print(predicted("trains_on", trains_on, trained, lang))

# %% [markdown] lang="zh"
# 没有报错，也没有用上 NPU：症状消失了，问题还在。凡是“有什么设备就用什么”的训练，都会这样悄悄在 CPU 上跑完一夜，日志里没有任何
# 警告。写明了 `import torch_npu` 的脚本反而幸运：它照样报错。
#
# 这个开关并非没有用处：机器上确实没有 NPU，而 torch_npu 又不能卸载时，它正合适。用之前先回答：这台机器**应该**有 NPU 吗？

# %% [markdown] lang="en"
# No error, and no NPU: the symptom is gone and the trouble is still there. A training that takes whichever device is
# there runs through the night on the CPU, quietly, without a warning in its log. A script that says `import torch_npu`
# is lucky: it still fails.
#
# The switch has its use: where a machine has no NPU and torch_npu cannot be uninstalled it is just right. Ask first:
# **should** this machine have an NPU?

# %% [markdown] lang="zh"
# ## 真正的修复
#
# 让新进程带着 CANN 的环境启动。在终端中是 `source /usr/local/Ascend/cann/set_env.sh`（没有 NPU 时，source 模拟器自己的
# `set_env.sh`）。`LD_LIBRARY_PATH` 只在进程启动时读取一次，所以在笔记本里改 `os.environ` 已经太迟，必须是**新进程**。
# `child_environment` 就是 source 之后的那个环境。

# %% [markdown] lang="en"
# ## The mending
#
# A new process starts with CANN's environment. In a terminal: `source /usr/local/Ascend/cann/set_env.sh`, or the
# simulator's own `set_env.sh` where there is no NPU. `LD_LIBRARY_PATH` is read once, when a process starts, so that
# changing `os.environ` in a notebook comes too late: it takes a **new process**. `child_environment` is what sourcing
# makes.

# %%
found = find(device)
mended = child_environment(found.tier, broken)
print("tier:", found.tier)
print(sorted(name for name in mended if mended.get(name) != broken.get(name) and name.startswith(("ASCEND_", "LD_"))))

# %%
done = run_script(script, mended)
print("exit code:", done.code, "|", done.stdout.strip())
print(run_script(scripts / "first_step.py", mended).stdout)

# %% [markdown] lang="zh"
# 跑通不等于修好，再检查一遍：同样的两条规则，这次应该都是“通过”。

# %% [markdown] lang="en"
# That it runs is not yet proof. Check again: the same two rules, and now both should be Good.

# %%
after = checked(mended, run.folder / "check_after.json")
for rule in ("ENV051", "ENV053"):
    print(rule, status_of(before, rule), "->", status_of(after, rule))

# %% [markdown] lang="zh"
# ## 第二个案件：昨天还好好的
#
# 另一台机器，CANN 已经 source。昨天一切正常，今天有人执行了 `pip install` 装一个新的数据增强库。现在报错：
#
# `ImportError: libtorch_npu.so: undefined symbol: _ZN3c106detail14torchCheckFail`
#
# **先预测**：该怪谁？把 `torch`、`torch_npu` 或 `cann` 写进参数 `culprit`。线索：符号名里有 `c10`，它属于哪个包？

# %% [markdown] lang="en"
# ## The second case: all was well yesterday
#
# Another machine, CANN is sourced. All was well yesterday; today somebody ran `pip install` for a new augmentation
# library. Now:
#
# `ImportError: libtorch_npu.so: undefined symbol: _ZN3c106detail14torchCheckFail`
#
# **Predict first**: which package is to blame? Put `torch`, `torch_npu` or `cann` into the parameter `culprit`. A
# thread to pull: the symbol's name has `c10` in it. Whose is that?

# %%
second = explain("ImportError: libtorch_npu.so: undefined symbol: _ZN3c106detail14torchCheckFail")
print(second.verdict(lang))

# %% [markdown] lang="zh"
# 这一次不必真的弄坏环境。`check` 分两步：收集事实，再由规则判断。`supposed` 只改动事实：假设 torch 变成了 2.8.0，
# 其余不变，看规则怎么说。

# %% [markdown] lang="en"
# Nothing has to be broken to see it. `check` has two halves: facts are gathered, then rules judge them. `supposed`
# changes the facts alone: suppose that torch had become 2.8.0 and all else stayed. What do the rules say?

# %%
machine = probe(device)
replaced = report_on(supposed(machine, torch="2.8.0"))
pair = next(found for found in replaced.findings if found.rule == "ENV053")
print(pair.status.word(lang), pair.message(lang))
print(pair.hint(lang))

# %%
belong = status_of(report_on(machine), "ENV053") == Status.GOOD.word(lang)
blamed = "torch" if belong and pair.status is Status.FIX else "torch_npu"
print(predicted("culprit", culprit, blamed, lang))

# %% [markdown] lang="zh"
# 只有 torch 变了，而原来的一对是配套的：换掉 torch 的那次安装就是原因。两种修法：把 torch 装回去，或者换成与新 torch
# 配套的 torch_npu。第二种在这里验证：

# %% [markdown] lang="en"
# Only torch has changed, and the pair was right before: the installation that replaced torch is the cause. There are
# two ways to mend it: put torch back, or take the torch_npu that belongs to the new one. The second, tried on the facts:

# %%
fits = report_on(supposed(machine, torch="2.8.0", torch_npu="2.8.0.post4"))
print("torch 2.8.0 with torch_npu 2.8.0.post4:", status_of(fits, "ENV053"))

# %% [markdown] lang="zh"
# **自己试一试**：把上面的版本换成 `torch="2.7.1"`，`torch_npu` 取什么才配套？`torch_npu="2.7.1"` 和
# `torch_npu="2.6.0"` 各会得到什么状态？
#
# <details><summary>答案</summary>
#
# 主版本、次版本、修订号须与 torch 一致；`.post` 后缀是 torch_npu 自己的修订。所以 2.7.1（以及 2.7.1.post2 等）得到“通过”，
# 2.6.0 得到“待修”。
# 为防再犯，用 constraints 文件固定 torch：`pip install -c constraints.txt ...`。
# </details>

# %% [markdown] lang="en"
# **Try it**: with `torch="2.7.1"`, which `torch_npu` fits? What status do `torch_npu="2.7.1"` and `torch_npu="2.6.0"`
# get?
#
# <details><summary>Answer</summary>
#
# Major, minor and micro version are those of torch; a suffix `.post` is torch_npu's own revision. So 2.7.1 is Good, as is
# 2.7.1.post2, and 2.6.0 is a Fix. So that it does not happen again, pin torch in a constraints file: `pip install -c constraints.txt ...`.
# </details>

# %% [markdown] lang="zh"
# ## 学到了什么
#
# - `import torch` 会自动加载 torch_npu；读**第一个**异常，最后一个只是转述。
# - `explain` 回答“这个报错是什么意思”，`check` 回答“这台机器还缺什么”。
# - `TORCH_DEVICE_BACKEND_AUTOLOAD=0` 消除症状，自己选择设备的脚本随后悄悄在 CPU 上训练。
# - CANN 的环境要在进程启动之前准备好；修好之后再检查一遍。
# - `undefined symbol` 说明版本不配套，多半是某次 `pip install` 换掉了 torch。
#
# 下一课：[02 迁移](02_migration.ipynb)，只加一行的迁移够不够？

# %% [markdown] lang="en"
# ## What was learnt
#
# - `import torch` loads torch_npu by itself; read the **first** exception, the last one only passes it on.
# - `explain` tells what an error means, `check` what a machine still lacks.
# - `TORCH_DEVICE_BACKEND_AUTOLOAD=0` removes the symptom; a script that chooses its device then trains on the CPU,
#   quietly.
# - CANN's environment has to be there before a process starts; and after the mending, check again.
# - `undefined symbol` means versions that do not belong together, most often since some `pip install` replaced torch.
#
# Next: [02 migration](02_migration.ipynb): is a migration of one line enough?
