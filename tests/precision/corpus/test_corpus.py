"""`inspect-data`: each oddity is found where it was put, nothing else is; copies hold the rest; inputs stay."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_workbook.cli.main import main
from ascend_workbook.findings.errors import WorkbookError
from ascend_workbook.findings.finding import Status
from ascend_workbook.findings.report import Report
from ascend_workbook.precision.corpus import inspect_data, judging, measures, reading

TEXT = (
    "apple river stone cloud paper mountain garden window letter music winter summer bridge engine planet forest "
    "shadow silver the of and to in is that it for was on with"
)
WORDS = TEXT.split()


def write_text(seed: int, count: int = 60) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=count))


def write_lines(path: Path, records: list[Any]) -> Path:
    lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def oddities_of(report: Report) -> dict[str, int]:
    counts = report.facts["oddities"]
    assert isinstance(counts, dict)
    return {name: count for name, count in counts.items() if count}


def keys_of(report: Report) -> set[str]:
    return {finding.key for finding in report.findings}


def test_a_clean_corpus_has_nothing_odd(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"text": write_text(seed)} for seed in range(200)])
    report = inspect_data([path])
    assert oddities_of(report) == {} and report.status is Status.NOTE
    assert report.verdict("en") == "200 records of 1 file(s): nothing odd in them"


def test_each_oddity_is_found_at_its_line(tmp_path: Path) -> None:
    base = [write_text(seed) for seed in range(50)]
    almost = base[5].split()
    almost[30] = "xylophone"
    planted: dict[str, Any] = {
        "duplicate": {"text": base[3].upper() + "  "},
        "near": {"text": " ".join(almost)},
        "syntax": b'{"text": "cut of',
        "encoding": b'{"text": "\xff\xfe and more"}',
        "field": {"id": 7},
        "language": {
            "text": "Der Hund und die Katze sind nicht in dem Haus, das mit einem Garten von der Stra\u00dfe ist."
        },
        "short": {"text": "too short"},
        "long": {"text": " ".join(write_text(seed, 90) for seed in range(1000, 1010))},
        "repeats": {"text": "the same words are written over and over " * 20},
        "symbols": {"text": "the sum is #$%^&*()!@#$%^&*()_+{}|:<>?~ of it"},
        "markup": {"text": write_text(77, 6) + " https://abcdefghijklmnopqrstuvwxyz.example"},
        "words": {"text": write_text(78) + " Forbidden phrase."},
        "test": {"text": write_text(79)},
    }
    path = write_lines(tmp_path / "a.jsonl", [*({"text": text} for text in base), *planted.values()])
    words = tmp_path / "words.txt"
    words.write_text("forbidden phrase\n禁词\n", encoding="utf-8")
    test = write_lines(tmp_path / "test.jsonl", [{"text": write_text(79)[40:200]}])
    report = inspect_data([path], languages="en", longest=4000, words=words, test=[test], out=tmp_path / "out")
    lines = (tmp_path / "out" / "dropped.jsonl").read_text(encoding="utf-8").splitlines()
    dropped = {entry["line"]: entry["reasons"] for entry in map(json.loads, lines)}
    assert dropped == {51 + number: [name] for number, name in enumerate(planted)}
    assert oddities_of(report) == dict.fromkeys(planted, 1)
    assert (tmp_path / "out" / "a.jsonl").read_bytes() == b"".join(
        line + b"\n" for line in path.read_bytes().splitlines()[:50]
    )


@pytest.mark.parametrize("changed, is_near", [(1, True), (20, False)])
def test_near_is_told_by_what_is_common(tmp_path: Path, changed: int, is_near: bool) -> None:
    words = write_text(1, 100).split()
    other = [f"other{at}" if at % (100 // changed) == 0 else word for at, word in enumerate(words)]
    path = write_lines(tmp_path / "a.jsonl", [{"text": " ".join(words)}, {"text": " ".join(other)}])
    assert oddities_of(inspect_data([path])) == ({"near": 1} if is_near else {})


def test_a_candidate_is_compared_before_it_is_called_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = write_text(1, 100).split()
    other = [f"other{at}" if at % 12 == 0 else word for at, word in enumerate(words)]
    path = write_lines(tmp_path / "a.jsonl", [{"text": " ".join(words)}, {"text": " ".join(other)}])
    monkeypatch.setattr(judging, "find_leaders", lambda corpus: {1: 0})
    assert oddities_of(inspect_data([path])) == {}


def test_bands_find_near_pairs_and_few_others() -> None:
    found = {0.95: 0, 0.3: 0}
    for seed in range(200):
        random_numbers = np.random.default_rng(seed)
        pieces = random_numbers.integers(0, 1 << 63, 400, dtype=np.uint64)
        for share in found:
            common = int(400 * 2 * share / (1 + share))
            other = np.concatenate(
                [pieces[:common], random_numbers.integers(0, 1 << 63, 400 - common, dtype=np.uint64)]
            )
            found[share] += bool((measures.band_hashes(pieces) == measures.band_hashes(other)).any())
            first, second = measures.sketch(pieces), measures.sketch(other)
            assert abs(measures.likeness(first, second) - share) < 0.12
    assert found[0.95] >= 198 and found[0.3] <= 3  # by the formula 1 - (1 - s^8)^8: 199.99 and 0.10


@pytest.mark.parametrize(
    "text, language",
    [
        ("The cat is on the mat and it was not there before that, which they have seen.", "en"),
        ("Le chat est sur la table et il ne veut pas que nous soyons avec lui dans la maison.", "fr"),
        ("这是一个关于机器学习的句子，用来判断语言，长度已经足够了，应当可以。", "zh"),
        ("これは日本語の文章です。漢字とひらがながあります。言語を判定します。", "ja"),
        ("이 문장은 한국어로 쓰여 있으며 언어를 판별하기 위한 것입니다.", "ko"),
        ("Это предложение написано на русском языке и достаточно длинное.", "ru"),
        ("12345 67890 +-*/", "?"),
        ("abcdefgh ijklmnop qrstuv \u03b1\u03b2\u03b3\u03b4\u03b5\u03b6", "?"),  # 6 of 28 letters are too few for Greek
        ("abcdefgh ijklmnop qrst \u03b1\u03b2\u03b3\u03b4\u03b5\u03b6\u03b7", "el"),
        ("xkcd qwrt zzzz plmk bnvc trwq mnbv zxcv lkjh", "?"),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert measures.find_language(text) == language


def test_what_comes_before_a_broken_line_and_after_it_is_read(tmp_path: Path) -> None:
    records = [{"text": write_text(1)}, b"\x80\x81", b"[[[[", b"", {"text": write_text(2)}]
    path = write_lines(tmp_path / "a.jsonl", records)
    read = list(reading.read_records(path))
    assert [(record.line, record.broken) for record in read] == [(1, ""), (2, "encoding"), (3, "syntax"), (5, "")]
    assert read[-1].text == write_text(2)


def test_a_half_of_a_surrogate_pair_is_broken(tmp_path: Path) -> None:
    lines = [
        rb'{"text": "one %s end"}' % code for code in (rb"\ud7ff", rb"\ud800", rb"\udfff", rb"\ue000", rb"\ud83d\ude00")
    ]
    read = list(reading.read_records(write_lines(tmp_path / "a.jsonl", lines)))
    assert [record.broken for record in read] == ["", "encoding", "encoding", "", ""]


@pytest.mark.parametrize("chunk", [7, 64, 1 << 20])
def test_a_list_is_read_in_pieces_as_json_reads_it(tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", chunk)
    values = [{"text": write_text(seed) + " 汉字\U0001f600"} for seed in range(9)] + [
        "a plain text",
        {"a": ["b", {"c": "d"}]},
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(values, ensure_ascii=False, indent=1), encoding="utf-8")
    read = list(reading.read_records(path))
    assert [record.raw for record in read] == values and not any(record.broken for record in read)
    assert read[-1].text == "b\nd"
    path.write_bytes(path.read_bytes()[:-40])
    assert [record.broken for record in reading.read_records(path)][-1] == "syntax"


def test_copies_have_the_form_of_their_files(tmp_path: Path) -> None:
    rows = [["id", "text"], *([str(at), write_text(at) + ', "quoted"\nline'] for at in range(4)), ["9", "short"]]
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    elements = [*({"text": write_text(seed)} for seed in range(4, 8)), {"text": "s"}]
    (tmp_path / "b.json").write_text(json.dumps(elements), encoding="utf-8")
    lines = [*(write_text(seed) for seed in range(8, 12)), "s"]
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    files = [tmp_path / name for name in ("a.csv", "b.json", "c.txt.gz")]
    before = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    report = inspect_data(files, out=tmp_path / "out")
    assert [hashlib.sha256(file.read_bytes()).hexdigest() for file in files] == before
    assert oddities_of(report) == {"short": 3, "duplicate": 1}  # the two texts of one sign are one
    with (tmp_path / "out/a.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == rows[:5]
    assert json.loads((tmp_path / "out/b.json").read_text(encoding="utf-8")) == elements[:4]
    assert gzip.decompress((tmp_path / "out/c.txt.gz").read_bytes()).decode().splitlines() == lines[:4]
    assert report.facts["kept"] == dict(zip(map(str, files), (4, 4, 4)))


def test_parquet_is_read_and_filtered(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = [write_text(seed) for seed in range(5)] + ["short", write_text(2)]
    parquet.write_table(pyarrow.table({"text": texts, "n": list(range(7))}), tmp_path / "a.parquet")
    report = inspect_data([tmp_path / "a.parquet"], out=tmp_path / "out")
    assert oddities_of(report) == {"short": 1, "duplicate": 1}
    assert parquet.read_table(tmp_path / "out/a.parquet").to_pydict()["n"] == [0, 1, 2, 3, 4]


def test_parquet_without_its_package_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "find_spec", lambda name: None)
    path, other = tmp_path / "a.parquet", write_lines(tmp_path / "b.jsonl", [{"text": write_text(1)}])
    path.write_bytes(b"PAR1")
    with pytest.raises(WorkbookError, match=r"a\.parquet: parquet needs the package pyarrow\nInstall it: .*pyarrow"):
        inspect_data([path])
    report = inspect_data([path, other])
    assert report.facts["records"] == 1 and "ACC301.file" in keys_of(report)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"text": write_text(1)}])
    with pytest.raises(WorkbookError, match="not empty"):
        inspect_data([path], out=tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.jsonl"]


def test_a_spike_names_the_records_of_its_batches(tmp_path: Path) -> None:
    first = write_lines(tmp_path / "a.jsonl", [{"text": write_text(seed)} for seed in range(10)])
    second = write_lines(tmp_path / "b.jsonl", [{"text": write_text(seed)} for seed in range(10, 19)] + [{"text": "x"}])
    report = inspect_data([first, second], spike="3-5", batch=4)
    assert report.table is not None
    places = [f"{first}:{line}" for line in (9, 10)] + [f"{second}:{line}" for line in range(1, 11)]
    assert report.table.column_values("place") == places
    assert report.table.column_values("oddity") == [None] * 11 + ["short"]
    assert "ACC300.beyond" in keys_of(inspect_data([first], spike="4", batch=4))
    with pytest.raises(WorkbookError, match="expected steps"):
        inspect_data([first], spike="0", batch=4)


def test_short_records_of_the_test_set_are_compared_whole(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"text": "What is the capital of France?"}, {"text": write_text(1)}])
    test = write_lines(tmp_path / "t.jsonl", [{"text": "what is the capital of FRANCE"}])
    assert oddities_of(inspect_data([path], test=[test])) == {"test": 1}


def test_a_large_test_set_is_thinned_and_still_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "MOST_TEST_PIECES", 4000)
    test = write_lines(tmp_path / "t.jsonl", [{"text": write_text(seed, 100)} for seed in range(50)])
    path = write_lines(tmp_path / "a.jsonl", [{"text": write_text(7, 100)}, {"text": write_text(99, 100)}])
    report = inspect_data([path], test=[test])
    assert oddities_of(report) == {"test": 1} and "ACC309.test" in keys_of(report)


def test_a_file_that_ends_too_early_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    whole = write_lines(tmp_path / "a.jsonl", [{"text": write_text(seed)} for seed in range(5)])
    cut = tmp_path / "b.jsonl.gz"
    cut.write_bytes(
        gzip.compress(b"".join(json.dumps({"text": write_text(seed)}).encode() + b"\n" for seed in range(5, 400)))[
            :4000
        ]
    )
    report = inspect_data([cut, whole], out=tmp_path / "out")
    assert report.facts["records"] >= 5 and "ACC301.file" in keys_of(report)
    assert (tmp_path / "out/a.jsonl").read_bytes() == whole.read_bytes()
    with pytest.raises(WorkbookError, match=r"nothing could be read: .*absent.* cannot be read.*gone"):
        inspect_data([tmp_path / "absent.jsonl", tmp_path / "gone.jsonl"])


def test_what_was_not_asked_is_said(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"text": write_text(1)}])
    finding = next(finding for finding in inspect_data([path]).findings if finding.key == "ACC309.not_asked")
    assert finding.args["options"] == ["--words FILE", "--test FILE", "--model DIR", "--languages LIST"]


def test_limits_of_memory_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [write_text(1), *(write_text(seed) for seed in range(2, 9)), write_text(1) + " end", write_text(5) + " end"]
    path = write_lines(tmp_path / "a.jsonl", [{"text": text} for text in texts])
    assert oddities_of(inspect_data([path])) == {"near": 2}
    monkeypatch.setattr(judging, "MOST_SKETCHES", 1)
    report = inspect_data([path])
    assert oddities_of(report) == {"near": 1} and "ACC309.unverified" in keys_of(report)
    monkeypatch.setattr(judging, "MOST_NEAR", 3)
    report = inspect_data([path])
    assert oddities_of(report) == {} and "ACC309.near" in keys_of(report) and report.status is Status.NOT_LOOKED


def test_a_class_can_fail_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"text": write_text(1)}, {"text": write_text(1)}])
    assert main(["inspect-data", str(path), "--lang", "zh"]) == 0
    assert "与之前的记录相同" in capsys.readouterr().out
    assert main(["inspect-data", str(path), "--fail-on", "near"]) == 0
    assert main(["inspect-data", str(path), "--fail-on", "duplicate"]) == 1
    assert main(["inspect-data", str(tmp_path), "--fail-on", "near"]) == 2


@pytest.mark.full
def test_perplexity_names_what_a_model_did_not_expect(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    words = {word: number for number, word in enumerate(["[UNK]", *WORDS])}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="[UNK]").save_pretrained(tmp_path / "model")
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=len(words), n_positions=128, n_embd=16, n_layer=1, n_head=2)
    model = transformers.GPT2LMHeadModel(config)
    with torch.no_grad():  # it expects every word alike but for one that it never expects
        model.transformer.ln_f.weight.zero_()
        model.transformer.ln_f.bias.copy_(torch.eye(16)[0])
        model.lm_head.weight.zero_()  # the words' vectors too
        model.lm_head.weight[0, 0] = -10.0
    model.save_pretrained(tmp_path / "model")
    texts = [write_text(seed) for seed in range(40)]
    texts[20] = " ".join(f"strange{at}" for at in range(60))
    path = write_lines(tmp_path / "a.jsonl", [{"text": text} for text in texts])
    report = inspect_data([path], model=tmp_path / "model")
    finding = next(finding for finding in report.findings if finding.rule == "ACC308")
    assert finding.key == "ACC308.far" and finding.args["far"] == 1 and f"{path}:21" in str(finding.args["places"])
    measured = report.facts["perplexity"]
    assert abs(measured["1"] - (len(words) - 1)) < 0.5  # exp of the entropy of so many words alike


def test_a_model_of_pickles_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"text": write_text(1)}])
    with pytest.raises(WorkbookError, match="no model"):
        inspect_data([path], model=tmp_path)
