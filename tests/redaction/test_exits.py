"""The exit takes out what is planted, leaves what only looks like it, and takes the time that the text is long."""

from __future__ import annotations

import io
import json
import random
import time
from collections.abc import Iterator

import pytest

from ascend_workbook.redaction import Redactor, known, make_process_redactor
from ascend_workbook.redaction.exits import RedactedStream, redact, redact_file, redact_lines, redact_words
from tests.redaction.planted import NEAR_MISSES, SECRETS, Secret


@pytest.fixture(autouse=True)
def nothing_told() -> Iterator[None]:
    before = set(known._TOLD)
    known._TOLD.clear()
    yield
    known._TOLD.clear()
    known._TOLD.update(before)


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: f"{secret.kind}, {secret.carrier}")
@pytest.mark.parametrize("frame", ["{}", "before\n{}\nafter", "x: 1\n{}\n"], ids=["alone", "lines", "end"])
def test_what_is_planted_goes(secret: Secret, frame: str) -> None:
    cleaned = redact(frame.format(secret.text))
    assert secret.value not in cleaned and "***" in cleaned
    assert redact(cleaned) == cleaned
    assert cleaned.startswith(frame.partition("{}")[0]) and cleaned.endswith(frame.partition("{}")[2])


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: f"{secret.kind}, {secret.carrier}")
def test_a_file_of_json_without_it_is_json(secret: Secret) -> None:
    words = secret.text.split(" ", 1) if secret.carrier == "option" else [secret.text]
    content = {"message": secret.text, "args": words, "max_token": 128, "token": None}
    for indent in (None, 1):
        cleaned = redact_file("report.json", json.dumps(content, indent=indent, ensure_ascii=False))
        assert json.loads(cleaned)["max_token"] == 128 and secret.value not in cleaned


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert redact(text) == text and redact(f"a\n{text}\nb\n") == f"a\n{text}\nb\n"
    dumped = json.dumps({"text": text, "more": [text, "next"]}, ensure_ascii=False)
    assert redact(dumped) == dumped


def test_there_are_forty_of_each() -> None:
    assert len(SECRETS) >= 40 and len(NEAR_MISSES) >= 40
    assert len({secret.value for secret in SECRETS}) == len(SECRETS)


def test_a_text_without_secrets_comes_back_as_it_was() -> None:
    draw = random.Random(7)
    signs = "abcXYZ019 \t\n\r\"'=:,;{}[]()<>&/\\-_.@#%+*中文İ：，\u2028"
    for _ in range(300):
        text = "".join(draw.choice(signs) for _ in range(draw.randrange(400)))
        once = redact(text)
        assert redact(once) == once
        if "***" not in once:
            assert once == text


def test_random_secrets_among_near_misses_go_and_leave_the_rest() -> None:
    draw = random.Random(11)
    for _ in range(100):
        lines = draw.choices(NEAR_MISSES, k=6)
        secret = draw.choice([secret for secret in SECRETS if "\n" not in secret.text])
        at = draw.randrange(7)
        cleaned = redact("\n".join([*lines[:at], secret.text, *lines[at:]])).split("\n")
        assert secret.value not in cleaned[at] and [*cleaned[:at], *cleaned[at + 1 :]] == lines


def test_a_models_mark_behind_an_option_is_no_secret() -> None:
    words = ["--vision-token", "<vision>", "--mask-token", "[MASK]", "--end-token", "[END]"]
    assert redact_words(words) == Redactor().redact_tree(words) == words
    for value in ("<Kx81afQ9>", "[Kx81afQ9]", "<pad>Kx81afQ9", "x<pad>"):
        assert redact_words(["--vision-token", value])[1] == "***" == Redactor().redact_tree(["--token", value])[1]
        assert value not in redact(f"--vision-token '{value}'") and value not in redact(f'password="{value}"')


def test_chunks_of_a_log_may_be_cut_anywhere() -> None:
    text = "".join(f"step {number}\n{secret.text}\n" for number, secret in enumerate(SECRETS))
    whole = redact(text)
    draw = random.Random(3)
    for _ in range(40):
        cuts = sorted(draw.sample(range(len(text)), 30))
        chunks = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)])]
        assert "".join(redact_lines(iter(chunks))) == whole


def test_a_stream_holds_a_line_until_it_is_whole() -> None:
    sink = io.StringIO()
    stream = RedactedStream(sink)
    for piece in ("--api-", "key PLAN", "TED01abc", "\n", "50 %"):
        print(piece, end="", file=stream)
    assert sink.getvalue() == "--api-key ***\n"
    stream.flush()
    assert sink.getvalue() == "--api-key ***\n50 %"
    stream.write_raw("--- password=PLANTED03pw\n")
    assert sink.getvalue().endswith("--- password=PLANTED03pw\n")


@pytest.mark.parametrize(
    "words",
    [
        ["train.py", "--api-key", "PLANTEDvalue1"],
        ["train.py", "--hf_token=PLANTEDvalue1"],
        ["-p", "script_args", "--lr 3 --api-key 'PLANTEDvalue1' x"],
        ["-p", "api_key", "PLANTEDvalue1"],
        ["--env", "MY_SECRET=PLANTEDvalue1"],
        ["--url", "https://u:PLANTEDvalue1@h/x"],
        ["--note", "password=PLANTEDvalue1"],
        ["--note", "口令是PLANTEDvalue1"],
    ],
)
def test_the_value_of_a_command_line_goes_wherever_it_turns_up(words: list[str]) -> None:
    known.remember_arguments(words)
    assert redact("loaded runs/PLANTEDvalue1/a.pt in 3 s") == "loaded runs/***/a.pt in 3 s"
    assert redact('{"cell": "UExBTlRFRHZhbHVlMQ=="}') == '{"cell": "***"}'  # as base64


@pytest.mark.parametrize(
    "words",
    [
        ["--tokenizer", "bert-base-uncased"],
        ["--max-tokens", "128000"],
        ["--password", "status"],
        ["--password", "baseline"],
        ["--note", "密码是训练"],
        ["--note", "密码为空"],
        ["--password", "abcd"],
        ["--token", "$TOKEN1"],
    ],
)
def test_a_plain_word_or_number_of_a_command_line_is_taken_from_no_other_place(words: list[str]) -> None:
    known.remember_arguments(words)
    assert redact(f'{{"status": "OK", "n": 128000}} {words[1]}') == f'{{"status": "OK", "n": 128000}} {words[1]}'


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--password", "dragonfly"], "dragonfly"),
        (["-p", "api_key", "Sesam"], "Sesam"),
        (["--note", "口令是春江花月夜"], "春江花月夜"),
        (["--note", "密码：苹果"], "苹果"),
        (["--token", "芝麻开门吧芝麻开门"], "芝麻开门吧芝麻开门"),
    ],
)
def test_a_word_that_none_of_our_texts_has_goes_wherever_it_is_a_whole_word(words: list[str], value: str) -> None:
    known.remember_arguments(words)
    text = f'{{"a": "say {value}, {value}"}} runs/{value}/x.pt'
    assert redact(text) == '{"a": "say ***, ***"} runs/***/x.pt'
    assert make_process_redactor().redact_text(f"x {value} y") == "x *** y"
    if value.isascii():
        assert redact(f"{value}s pre{value} {value}_1") == f"{value}s pre{value} {value}_1"
    else:
        assert redact(json.dumps([value])) == '["***"]' and redact(f"前{value}后") == "前***后"


def test_a_plain_word_of_the_environment_goes_unless_it_is_common(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "dragonfly")
    monkeypatch.setenv("XDG_SESSION_TYPE", "device")
    assert redact("a dragonfly on the device") == "a *** on the device"


def test_values_of_the_environment_go_and_its_places_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "PLANTEDenv9")
    monkeypatch.setenv("PWD", "/no/longer/there9")
    assert redact("a PLANTEDenv9 in /no/longer/there9") == "a *** in /no/longer/there9"


def test_what_is_the_users_own_is_written_as_it_is() -> None:
    for name in ("train.py", "npu.patch", "a/course.json", "run.sh"):
        assert redact_file(name, "api_key = 'PLANTED01abc'") == "api_key = 'PLANTED01abc'"
    assert redact_file("a.txt", "api_key = 'PLANTED01abc'") == "api_key = '***'"


@pytest.mark.parametrize(
    "text",
    [
        "token" + " " * 100_000,
        'password="' + "\\" * 100_000,
        "a.b-" * 50_000 + "://",
        "-" * 100_000 + "password",
        "--" + "token" * 40_000,
        "login " + "x" * 100_000 + " password",
        "-----BEGIN PRIVATE KEY-----\n" * 4000,
        "口令：" * 40_000,
        "AKSK" * 50_000,
        "https://" + "a:" * 80_000,
        "cookie: " * 20_000,
    ],
    ids=lambda text: text[:12],
)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    redact(text)
    assert time.process_time() - began < 2.0, "quadratic: 0.2 s are usual"
