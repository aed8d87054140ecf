"""Words of the Dask cluster that compare and analyse can use."""

from helpers.words import Words

WORDS: dict[str, Words] = {
    "scheduler.missing": Words(
        "--scheduler needs dask.distributed, which is not installed here: {error}",
        "--scheduler 需要 dask.distributed，此处未安装：{error}",
        "pip install distributed; without --scheduler all cores of this machine are used.",
        "pip install distributed；不使用 --scheduler 时会使用本机的全部核心。",
    ),
    "scheduler.silent": Words(
        "{address}: no Dask scheduler answers there: {error}",
        "{address}：没有 Dask 调度器应答：{error}",
        "Start one with `dask scheduler` and give the address it prints, as in tcp://10.0.0.1:8786.",
        "请用 `dask scheduler` 启动调度器，并给出它打印的地址，例如 tcp://10.0.0.1:8786。",
    ),
    "scheduler.empty": Words(
        "{address}: the Dask cluster has no worker",
        "{address}：Dask 集群中没有工作进程",
        "Start some with `dask worker {address}` on machines that see the data under the same paths.",
        "请在能以相同路径访问数据的机器上运行 `dask worker {address}`。",
    ),
    "scheduler.failed": Words(
        "{address}: the Dask cluster did not run the task: {error}",
        "{address}：Dask 集群未能执行任务：{error}",
        "Its workers need this package, in this version, and numpy; see the worker's own log.",
        "工作进程需要安装同一版本的本软件包和 numpy；详见工作进程的日志。",
    ),
}
