"""The job's request, and the real boot file in an imitated image."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from ascend_workbook.cli import main as __main__
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.modelarts import JobRequest, configuration, describe_job, imitation, rehearsal, rehearse_job

REQUEST = {"name": "night", "code": "obs://bucket/code/", "out": "obs://bucket/out", "flavor": "f", "engine_id": "e"}


def test_the_request_is_whole() -> None:
    made = configuration.make_body(
        JobRequest(
            **REQUEST,
            data="obs://bucket/data",
            logs="obs://bucket/logs",
            pool="p",
            nodes=2,
            environment={"MA_RUN_METHOD": "torchrun"},
        )
    )
    algorithm = made["algorithm"]
    assert made["metadata"] == {"name": "night"} and made["kind"] == "job"
    assert (algorithm["code_dir"], algorithm["boot_file"]) == ("/bucket/code/", "/bucket/code/modelarts_job.py")
    assert algorithm["inputs"] == [{"name": "data_url", "remote": {"obs": {"obs_url": "/bucket/data/"}}}]
    assert algorithm["outputs"] == [{"name": "train_url", "remote": {"obs": {"obs_url": "/bucket/out/"}}}]
    assert algorithm["parameters"] == [{"name": "command", "value": "run --name job -p device npu"}]
    assert algorithm["environments"]["MA_RUN_METHOD"] == "torchrun" and algorithm["engine"] == {"engine_id": "e"}
    assert made["spec"]["resource"] == {"flavor_id": "f", "node_count": 2, "pool_id": "p"}
    assert made["spec"]["log_export_path"] == {"obs_url": "/bucket/logs/"}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"name": "a b"}, "name"),
        ({"code": "s3://bucket/x"}, "address"),
        ({"out": "obs://bucket/../x"}, "address"),
        ({"out": "obs://user:word@bucket/x"}, "address"),
        ({"image": "swr/x"}, "image"),
        ({"engine_id": ""}, "image"),
        ({"nodes": 0}, "nodes"),
        ({"environment": {"MA_HOME": "/"}}, "variable"),
        ({"environment": {"1": "x"}}, "variable"),
        ({"environment": {"OBS_SECRET_ACCESS_KEY": "x"}}, "secret"),
        ({"environment": {"PIP_INDEX_URL": "https://u:Kx81afQ99@h/simple"}}, "secret_value"),
        ({"environment": {"HTTP_PROXY": "http://u:Kx81afQ99@proxy:80"}}, "secret_value"),
        ({"environment": {"LAUNCH": "train.py --api-key Kx81afQ99"}}, "secret_value"),
        ({"script": "train.py --api-key Kx81afQ99"}, "secret_words"),
        ({"command": "run -p baseline https://me:Kx81afQ99@host/x"}, "secret_words"),
        ({"command": "scan 'x"}, "words"),
        ({"environment": {f"A{n}": "" for n in range(99)}}, "variable"),
        ({"script": "/home/me/train.py"}, "script_place"),
        ({"script": "../train.py"}, "script_place"),
        ({"command": " "}, "script_place"),
    ],
)
def test_what_no_job_can_be_is_refused(change: dict[str, object], key: str) -> None:
    with pytest.raises(WorkbookError) as raised:
        describe_job(JobRequest(**{**REQUEST, **change}))  # type: ignore[arg-type]
    assert raised.value.key == f"modelarts.{key}"
    assert "Kx81afQ99" not in f"{raised.value}{raised.value.arguments}"


def test_what_is_no_credential_is_written_as_it_is() -> None:
    given = {"PIP_INDEX_URL": "https://mirror.example/simple", "TASK_QUEUE_ENABLE": "1", "MASK": "<pad>"}
    script = "train.py --pad-token '<pad>' --image-token '<image>' --vision-token '<|vision_start|>'"
    request = JobRequest(**REQUEST, script=script, environment=given)
    algorithm = configuration.make_body(request)["algorithm"]
    assert given.items() <= algorithm["environments"].items()
    assert algorithm["parameters"] == [{"name": "script", "value": script}]


def test_the_command_writes_the_body(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [
        "modelarts",
        "job",
        "--code",
        "obs://bucket/code",
        "--out",
        "obs://bucket/out",
        "--flavor",
        "f",
        "--image",
        "swr.example/org/i:1",
        "--env",
        "HCCL_CONNECT_TIMEOUT=600",
        "--lang",
        "zh",
    ]
    assert __main__.main([*given, "--body", str(tmp_path / "job.json")]) == 0
    made = json.loads((tmp_path / "job.json").read_text(encoding="utf-8"))
    assert made["algorithm"]["environments"]["HCCL_CONNECT_TIMEOUT"] == "600" and "尚未提交" in capsys.readouterr().out
    assert __main__.main([*given, "--env", "HCCL"]) == 2 and __main__.main([*given, "--cards", "0"]) == 2


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> imitation.Layout:
    return imitation.make_layout(tmp_path_factory.mktemp("modelarts") / "image", hosts=2)


def test_a_whole_rehearsal_is_good_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    report = rehearse_job(JobRequest(**REQUEST))
    roles = list(zip(report.table.column_values("modelarts_case"), report.table.column_values("modelarts_role")))
    assert report.status <= Status.NOTE and report.headline and report.headline.key == "RUN411.good"
    assert {one.key for one in report.findings} >= {"RUN412.good", "RUN413.worked", "RUN414.not_played"}
    for way in ("rtf", "torchrun", "custom", "notebook"):
        named = [role for case, role in roles if case == {"say": f"modelarts.way.{way}"}]
        assert named.count({"say": "modelarts.role.lead"}) == 1, way
    assert not list(tmp_path.iterdir())


def test_a_script_that_is_not_there_is_told() -> None:
    with pytest.raises(WorkbookError) as raised:
        rehearse_job(JobRequest(**REQUEST, script="none/train.py"))
    assert raised.value.key == "modelarts.no_script"


def test_a_boot_file_that_fails_fails_the_rehearsal(image: imitation.Layout) -> None:
    starts = imitation.job_starts("rtf", 2, 2, image.root)
    starts[2].variables["VC_TASK_INDEX"] = "7"
    ended = imitation.run_processes(image, starts, ["--dry_run", "--command=scan x"], imitation.Player())
    found = list(rehearsal._judge_cases([rehearsal.Case("rtf", 1, tuple(ended))]))
    assert [one.key for one in found] == ["RUN412.code"] and "VC_TASK_INDEX" in found[0].message("en")
    good = tuple(one for one in ended if not one.code)
    assert [one.key for one in rehearsal._judge_cases([rehearsal.Case("rtf", 2, good)])][0] == "RUN412.leads"


def test_the_imitation_tells_on_sudo(image: imitation.Layout) -> None:
    assert not imitation.was_sudo_called(image)
    sudo = image.python.with_name("sudo")
    assert subprocess.run([str(sudo), "apt"], check=False).returncode == 1 and imitation.was_sudo_called(image)
    assert [one.key for one in rehearsal._report_limits(image, imitation.Player(1000))][0] == "RUN414.sudo"


def test_ma_user_is_really_another_with_a_small_shm(tmp_path: Path) -> None:
    """Where this user may: the number, no further groups, nothing of the environment writable, 64 MiB of /dev/shm."""
    if os.geteuid() != 0:
        pytest.skip("becoming another user takes root")
    made = imitation.make_layout(
        Path(tempfile.mkdtemp(prefix="image-")) / "image"
    )  # pytest's own folder is closed to others
    made.root.parent.chmod(0o755)
    try:
        who = imitation.choose_player(made)
        if who.user is None:
            pytest.skip("another user cannot run this Python")
        code = (
            "import os; print(os.getuid(), os.getgroups(), os.access(os.environ['SITE'], os.W_OK), "
            "os.access('.', os.W_OK), (lambda s: s[2] * s[1] >> 20)(os.statvfs('/dev/shm')))"
        )
        env = {**imitation.make_environment(made, imitation.Start(0, 0, "")), "SITE": str(made.site)}
        done = subprocess.run(
            who.make_command([str(made.python), "-c", code]),
            cwd=made.code,
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        said = done.stdout.split()
        assert said[0] == "1000" and said[-3:-1] == ["False", "True"] and (said[-1] == "64") is who.small
        assert "".join(said[1:-3]) in ("[]", "[100]")
    finally:
        shutil.rmtree(made.root.parent)


@pytest.mark.full
def test_a_script_becomes_as_many_ranks_as_there_are_cards(image: imitation.Layout) -> None:
    """The preset engine's two processes: one leaves, the other's torchrun makes two ranks that find each other."""
    (image.code / "ranks.py").write_text(
        "import os, torch.distributed as d\nd.init_process_group('gloo')\n"
        "assert 'RANK_TABLE_FILE' not in os.environ\n"
        "print('rank', d.get_rank(), 'of', d.get_world_size(), flush=True)\nd.destroy_process_group()\n"
    )
    starts = imitation.job_starts("rtf", 1, 2, image.root)
    ended = imitation.run_processes(
        image, starts, [f"--train_url={image.outputs}", "--script=ranks.py"], imitation.Player()
    )
    assert [one.code for one in ended] == [0, 0], [one.output for one in ended]
    ranks = [line for one in ended for line in one.output.splitlines() if line.startswith("rank ")]
    assert sorted(ranks) == ["rank 0 of 2", "rank 1 of 2"]


def test_the_images_python_has_the_environments_prefix(image: imitation.Layout) -> None:
    assert image.python.is_symlink()
    (ended,) = imitation.run_processes(
        image, imitation.notebook_starts(), ["--dry_run", "--command=scan x"], imitation.Player()
    )
    plan = rehearsal.read_plan(ended)
    assert ended.code == 0, ended.output
    assert plan["command"][0] == str(image.python) and set(plan["dropped"]) >= {"RANK_TABLE_FILE", "ASCEND_DEVICE_ID"}
    assert plan["scratch"].startswith(str(image.cache))


def test_the_report_of_a_job_is_written_in_each_form(tmp_path: Path) -> None:
    given = [
        "modelarts",
        "job",
        "--code",
        "obs://bucket/code",
        "--out",
        "obs://bucket/out",
        "--flavor",
        "f",
        "--engine-id",
        "e",
    ]
    for form in ("json", "html", "junit"):
        assert __main__.main([*given, f"--{form}", str(tmp_path / form)]) == 0 and (tmp_path / form).stat().st_size
