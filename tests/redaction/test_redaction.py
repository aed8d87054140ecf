"""Keys, tokens, names and addresses go; versions, paths of the system, hashes and ordinary words stay."""

from __future__ import annotations

import base64
import html
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from ascend_workbook.redaction import make_process_redactor

ENVIRON = {
    "HOME": "/home/wanglei",
    "USER": "wanglei",
    "HOSTNAME": "gpu-node-17.corp.example",
    "PATH": "/usr/bin",
    "OBS_ACCESS_KEY_ID": "PLANTEDAK0001",
    "OBS_SECRET_ACCESS_KEY": "planted/secret+key0002",
    "HF_TOKEN": "planted-hf",
    "MY_PASSWORD": "correct horse",
    "DB_DSN": "pg://a:b@c",
    "MA_AK": "planted-ma-ak",
    "ASCEND_SK": "planted-sk",
    "SSH_AUTH_SOCK": "/run/user/1000/socket",
    "USE_TOKEN": "true",
}
PRIVATE = make_process_redactor(ENVIRON, {"/data/secret-project": "<project>"})
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlMTIz"


@pytest.mark.parametrize("name", [name for name, text in ENVIRON.items() if "planted" in text.lower()])
def test_values_of_secret_variables_go_wherever_they_stand(name: str) -> None:
    assert ENVIRON[name] in PRIVATE.secrets
    for text in (ENVIRON[name], f"x={ENVIRON[name]}&y", f"<td>{ENVIRON[name]}</td>", json.dumps([ENVIRON[name]])):
        assert "PLANTED" not in PRIVATE.redact_text(text).upper()


@pytest.mark.parametrize(
    "text",
    [
        "password: hunter2hunter",
        "PASSWD=hunter2hunter",
        '"secret_access_key": "hunter2hunter"',
        "sk=hunter2hunter",
        "token=hunter2hunter;",
        "Authorization: Bearer hunter2hunter",
        "authorization=OBS hunter2hunter:sig",
        "x-obs-security-token: hunter2hunter",
        "https://me:hunter2hunter@host/x",
        "https://b/o?Signature=hunter2hunter&x=1",
        "AK: HUNTER2HUNTER2HUNTER",
        "HPUAHUNTER2HUNTER2AB",
        "aB3hunter2hunter2hunter2hunter2hunter2hu",
        JWT,
        "ghp_hunter2hunter2hunter",
        "hf_hunter2hunter2hunter",
        "sk-hunter2hunter2hunter",
        "-----BEGIN RSA PRIVATE KEY-----\nhunter2\nhunter2\n-----END RSA PRIVATE KEY-----",
        "api_key => hunter2hunter",
        "&quot;password&quot;: &quot;hunter2hunter&quot;",
        "X-Auth-Token: hunter2hunter",
    ],
)
def test_shapes_of_secrets_go(text: str) -> None:
    cleaned = PRIVATE.redact_text(f"before {text} after")
    assert "hunter" not in cleaned.lower() and "eyJ" not in cleaned and cleaned.startswith("before")


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("/home/wanglei/ascend/log", "~/ascend/log"),
        ("/home/zhangsan/train.py", "/home/<user>/train.py"),
        ("user wanglei on gpu-node-17", "user <user> on <host>"),
        ("gpu-node-17.corp.example:29500", "<host>:29500"),
        ("/data/secret-project/a.py", "<project>/a.py"),
        ("connect 10.20.30.40:60000", "connect <ip>:60000"),
        ("mail wang.lei@example.com now", "mail <email> now"),
        ("ether 0c:42:a1:de:ad:01", "ether <mac>"),
    ],
)
def test_names_and_addresses_go(text: str, instead: str) -> None:
    assert PRIVATE.redact_text(text) == instead


@pytest.mark.parametrize(
    "text",
    [
        "torch 2.13.0+cpu",
        "CANN 9.1.0.beta.1",
        "7.6.0.1.220",
        "127.0.0.1:29500",
        "loss 0.51",
        "aclrtGetMemInfo",
        "/usr/local/Ascend/cann/set_env.sh",
        "error code is 507015",
        "ENV103.cut_collective",
        "0x0000000000800000",
        "681ef7610df1a9c6681ef7610df1a9c6681ef761",
        "wangleis",
        "tokens/s 8123.4",
        "[32,8,8,8] [32,8,1,1]",
        "aten::native_batch_norm_backward",
        "skipped: 3",
        "ASCEND_RT_VISIBLE_DEVICES=0,1",
        "10:20:30.400",
    ],
)
def test_what_a_reader_needs_stays(text: str) -> None:
    assert PRIVATE.redact_text(text) == text


def test_a_secret_written_otherwise_goes_too() -> None:
    secret = 'a"b<c>&d/e+密f'
    private = make_process_redactor({"OBS_SK": secret})
    coded = base64.b64encode(secret.encode()).decode()
    quoted = (quote(secret, safe=""), quote(secret))
    for written in (secret, json.dumps(secret), repr(secret), html.escape(secret), *quoted, coded):
        assert private.leaks_secret(f"x {written} y")
        cleaned = private.redact_text(f"x {written} y")
        assert (
            "***" in cleaned and not private.leaks_secret(cleaned) and "b&lt;c" not in cleaned and "密" not in cleaned
        )


def test_paths_and_words_are_no_secrets() -> None:
    assert not {"/run/user/1000/socket", "true"} & set(PRIVATE.secrets)


def test_trees_keep_their_structure() -> None:
    tree = {
        "verdict": {"say": "ENV000.ok", "args": {"path": "/home/wanglei"}},
        "environ": {"MA_SECRET": "x1"},
        "n": [1, None],
    }
    assert PRIVATE.redact_tree(tree) == {
        "verdict": {"say": "ENV000.ok", "args": {"path": "~"}},
        "environ": {"MA_SECRET": "***"},
        "n": [1, None],
    }
    assert PRIVATE.leaks_secret("...PLANTEDAK0001...") and not PRIVATE.leaks_secret("clean")


@pytest.mark.parametrize(
    "text",
    [
        "train.py --password hunter2xyz --token hunter2efgh --api-key hunter2",
        "password = 'correct hunter battery'",
        "os.environ['DB_PASSWORD'] = 'x hunter z'",
        'os.environ.setdefault("HF_TOKEN", "hunter2 x")',
        '{"auths": {"swr.example": {"auth": "aHVudGVyhunter"}}}',
        "MIIhunter2\nhunter2==\n-----END PRIVATE KEY-----",
        r'{"k": "MIIhunter2\nhunter2==\n-----END RSA PRIVATE KEY-----\n"}',
        r'"password": "a\"b hunter2 c"',
        r'"{\"password\": \"hunter2 b\"}"',
        "--token='hunter2 b'",
        "['--password', 'hunter2 b']",
        "WANDB_KEY=hunter2hunter",
        '--password "my hunter2" x',
    ],
)
def test_secrets_with_spaces_options_and_cut_keys_go(text: str) -> None:
    cleaned = PRIVATE.redact_text(f"before:\n{text}\nafter")
    assert "hunter" not in cleaned and cleaned.startswith("before") and cleaned.endswith("after"), cleaned
    assert PRIVATE.redact_text(cleaned) == cleaned


def test_a_whole_key_ends_at_its_end() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"
    assert PRIVATE.redact_text(f"a: {key}\nstep 1.\n{key}\nafter") == "a: ***\nstep 1.\n***\nafter"


def test_a_key_that_begins_with_a_slash_is_no_path(tmp_path: Path) -> None:
    secret = "/k7Mdeng/bPxRfiCYEXAMPLEKEY"
    private = make_process_redactor(
        {"AWS_SECRET_ACCESS_KEY": secret, "MA_KEY_DIR": "/not/here", "MA_KEY": str(tmp_path)}
    )
    assert private.leaks_secret(f"x {secret} y") and private.redact_text(f"x {secret} y") == "x *** y"
    assert private.redact_text(f"/not/here {tmp_path}") == f"/not/here {tmp_path}"


@pytest.mark.parametrize("text", ["2001:db8::1", "fe80::1ff:fe23:4567:890a%eth0", "fd00:1:2:3:4:5:6:7", "2408:4001::"])
def test_ipv6_goes(text: str) -> None:
    assert PRIVATE.redact_text(f"connect [{text}]:29500 at {text}.") == "connect [<ip>]:29500 at <ip>."


@pytest.mark.parametrize("text", ["12:34:56", "2026:01:02:03", "aten::add", "c10::add", "dead::beef", "::1", "0:1"])
def test_times_and_names_of_modules_are_no_addresses(text: str) -> None:
    assert PRIVATE.redact_text(f"at {text} x") == f"at {text} x"


def test_the_jobs_other_hosts_go(tmp_path: Path) -> None:
    table = {"server_list": [{"server_id": "bj-rack7-3", "device": [{"device_id": "0"}]}]}
    (tmp_path / "table.json").write_text(json.dumps(table))
    environ = {
        "MASTER_ADDR": "head-1.job.svc.corp",
        "VC_WORKER_HOSTS": "vc-0.x.internal,vc-1.x.internal",
        "SLURM_JOB_NODELIST": "gpu[01-03,7]-ib,login9",
        "RANK_TABLE_FILE": str(tmp_path / "table.json"),
    }
    private = make_process_redactor(environ)
    whole = ("head-1.job.svc.corp", "vc-1.x.internal", "gpu02-ib", "gpu7-ib", "login9", "bj-rack7-3")
    for name in (*whole, "head-1", "vc-0"):
        assert private.redact_text(f"rank 3 on {name}: lost") == "rank 3 on <host>: lost", name


def test_only_codes_of_ours_are_spared_and_only_our_keys_stay() -> None:
    secrets = {"DB_PASSWORD": "python", "MA_TOKEN": "status", "X_SK": "abc12", "HF_TOKEN": "planted-hf"}
    private = make_process_redactor(secrets)
    tree = {
        "status": "OK",
        "key": "ENV000.ok",
        "rule": "ENV010",
        "python": {"say": "ENV000.ok"},
        "verb": "selftest",
        "facts": {"key": "sk-abcdefhunter2", "status": "planted-hf", "rule": "password=x", "planted-hf": 1, "abc12": 2},
        "argv": ["t.py", "--password", "hunter2"],
        "pem": ["MIIx", "-----END PRIVATE KEY-----", "after"],
        "token": "t1",
    }
    assert private.redact_tree(tree) == {
        "status": "OK",
        "key": "ENV000.ok",
        "rule": "ENV010",
        "python": {"say": "ENV000.ok"},
        "verb": "selftest",
        "facts": {"key": "***", "status": "***", "rule": "password=***", "***": 1, "abc12": 2},
        "argv": ["t.py", "--password", "***"],
        "pem": ["***", "***", "after"],
        "token": "***",
    }
    assert not private.leaks_secret(json.dumps(private.redact_tree(tree))) and private.leaks_secret("planted-hf")
    assert private.redact_text("by python 3, pythons") == "by *** 3, pythons"
    assert PRIVATE.leaks_secret("-----BEGIN PRIVATE KEY-----\nx") and PRIVATE.leaks_secret("k sk-abcdefghijklmnop")
