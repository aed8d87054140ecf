"""A launch plugin: stand-ins for what the Hugging Face hub would give, where it cannot be reached.

    model      the model of a known name, as its configuration builds it; known are those of `plan` and OTHERS
    documented the model that a configuration's defaults build, where transformers names that model beside them; guessed
    tokenizer  a tokenizer of bytes with as many tokens as the model's vocabulary
    texts      rows of text, pictures or talks under the columns that trainings on such a set read; guessed
    metric     a measure of the library evaluate, which counts nothing

Only what failed is replaced, and each is written down (stand_ins.jsonl). Runs in the user's process by path and imports
nothing of the workbook. Configuration: models, a list of {names, config}; columns and rows that a run before missed.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

#: This file's frames stand between the program and the library; whose line it is must not change by that.
PASSES_THROUGH = True


def _bert(kind: str, layers: int, width: int, vocabulary: int, **others: object) -> dict[str, object]:
    sizes = {"hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": width // 64}
    return {"model_type": kind, **sizes, "intermediate_size": 4 * width, "vocab_size": vocabulary, **others}


def _opt(layers: int, width: int, embedding: int, heads: int, **others: object) -> dict[str, object]:
    sizes = {"hidden_size": width, "word_embed_proj_dim": embedding, "ffn_dim": 4 * width, "num_hidden_layers": layers}
    return {"model_type": "opt", **sizes, "num_attention_heads": heads, "vocab_size": 50272, **others}


def _gpt2(layers: int, width: int) -> dict[str, object]:
    return {"model_type": "gpt2", "n_layer": layers, "n_embd": width, "n_head": width // 64, "vocab_size": 50257}


def _t5(layers: int, width: int, inner: int, heads: int) -> dict[str, object]:
    sizes = {"d_model": width, "d_ff": inner, "d_kv": 64, "num_layers": layers, "num_heads": heads}
    return {"model_type": "t5", **sizes, "vocab_size": 32128, "decoder_start_token_id": 0}


#: Configurations beside those that `plan` knows, as they are published.
OTHERS: dict[str, dict[str, object]] = {
    "bert-large": _bert("bert", 24, 1024, 30522),
    "roberta-base": _bert("roberta", 12, 768, 50265, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1),
    "distilroberta-base": _bert(
        "roberta", 6, 768, 50265, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1
    ),
    "roberta-large": _bert("roberta", 24, 1024, 50265, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1),
    "distilbert-base": {"model_type": "distilbert", "n_layers": 6, "dim": 768, "n_heads": 12, "vocab_size": 30522},
    "gpt2-medium": _gpt2(24, 1024),
    "gpt2-large": _gpt2(36, 1280),
    "distilgpt2": _gpt2(6, 768),
    "opt-125m": _opt(12, 768, 768, 12),
    "opt-350m": _opt(24, 1024, 512, 16, do_layer_norm_before=False),
    "opt-1.3b": _opt(24, 2048, 2048, 32),
    "opt-6.7b": _opt(32, 4096, 4096, 32),
    "t5-small": _t5(6, 512, 2048, 8),
    "t5-base": _t5(12, 768, 3072, 12),
    "t5-large": _t5(24, 1024, 4096, 16),
}
#: Names of vision transformers, and their sizes.
VIT = re.compile(r"vit-(small|base|large|huge)-patch(\d+)-(\d+)")
VIT_SIZES = {"small": (12, 384, 6), "base": (12, 768, 12), "large": (24, 1024, 16), "huge": (32, 1280, 16)}
#: How many words models of the kind of bert know, by what their names hold.
VOCABULARIES = (("multilingual-uncased", 105879), ("multilingual", 119547), ("-cased", 28996))
#: A configuration's file names the model that its defaults were taken from, and its kind.
DOCUMENTED = re.compile(
    r"""checkpoint=["']([^"']+)["'](?:(?!checkpoint=).)*?model_type = ["']([\w-]+)["']""", re.DOTALL
)
#: Models that were built of defaults.
_documented: set[str] = set()
#: Sets of texts by what their name holds: the columns, and which of them are numbers (of so many classes).
TEXTS: tuple[tuple[str, tuple[str, ...], dict[str, int]], ...] = (
    ("alpaca", ("instruction", "input", "output", "text"), {}),
    ("metamath", ("query", "response"), {}),
    ("ultrafeedback|binarized|preference|hh-rlhf|orca-dpo", ("chosen", "rejected"), {}),
    ("capybara|ultrachat|no_robots|smoltalk", ("messages",), {}),
    ("dolly", ("instruction", "context", "response"), {}),
    ("glue.*/(cola|sst)", ("sentence",), {"label": 2, "idx": 1}),
    ("glue.*/qqp", ("question1", "question2"), {"label": 2, "idx": 1}),
    ("glue.*/qnli", ("question", "sentence"), {"label": 2, "idx": 1}),
    ("glue.*/mnli", ("premise", "hypothesis"), {"label": 3, "idx": 1}),
    ("glue", ("sentence1", "sentence2"), {"label": 2, "idx": 1}),
    ("imdb|yelp|rotten|sst2|sst$", ("text",), {"label": 2}),
    ("stsb|sts-?b", ("sentence1", "sentence2"), {"score": 5}),
    ("all-nli/triplet", ("anchor", "positive", "negative"), {}),
    ("all-nli/pair-class|/nli|snli", ("premise", "hypothesis"), {"label": 3}),
    ("squad", ("id", "title", "context", "question"), {}),
    ("cifar", ("img",), {"label": 10, "fine_label": 100}),
    ("beans|flowers|mnist|imagenet|food101|pets|butterfl|pokemon|naruto|celeb|dog", ("image", "text"), {"label": 2}),
    ("ag_news", ("text",), {"label": 4}),
    ("cnn_dailymail", ("article", "highlights"), {}),
    ("xsum|samsum", ("document", "dialogue", "summary"), {}),
    ("", ("text", "prompt", "response"), {"label": 2}),
)
#: Tokens that trainings on talks ask for by name, and how a talk is written with them.
OF_CHATS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
CHAT = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
#: Options of asking the hub: who takes a configuration does not see them.
OF_THE_HUB = (
    *("cache_dir", "force_download", "resume_download", "proxies", "token", "use_auth_token", "local_files_only"),
    *("revision", "trust_remote_code", "subfolder", "gguf_file", "user_agent"),
    *("_from_pipeline", "_from_auto", "_commit_hash"),
)
#: Columns by their names: pictures, what people said, numbers; all others hold text.
PICTURES = ("image", "img", "pixel_values", "picture", "photo")
TALKS = ("messages", "conversations", "conversation", "chosen", "rejected")
NUMBERS = ("label", "labels", "score", "scores", "similarity", "similarity_score", "idx", "target", "fine_label")
PICTURE = (256, 256)
#: Columns whose numbers are classes with names; the parts of a set.
CLASSES = ("label", "labels", "fine_label")
SPLITS = ("train", "validation", "test")
MOST_MADE = 20_000
ROWS, WORDS = 2000, "the training of a model takes memory for its weights and what it keeps of each step "


def attach(observer: Any, config: dict[str, Any]) -> None:
    """Stand in for what the hub does not give from now on."""
    notes = observer.open_notes("stand_ins.jsonl")
    known = {simplify(name): each["config"] for each in config.get("models", ()) for name in each["names"]}
    known |= {simplify(name): each for name, each in OTHERS.items()}
    for each in config.get("pipelines", ()):
        for part, settings in each["parts"].items():
            if part.startswith("text_encoder"):
                names = (part, part.replace("text_encoder", "tokenizer"))
                known |= {f"{simplify(name)}/{folder}": settings for name in each["names"] for folder in names}
    for variable in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):  # nobody answers: asked once, not for minutes
        if config.get("offline", True):
            os.environ.setdefault(variable, "1")
    calls: dict[str, Callable[[ModuleType], None]] = {
        "transformers.configuration_utils": functools.partial(patch_configurations, known),
        "transformers.modeling_utils": functools.partial(patch_models, notes),
        "transformers.tokenization_utils_base": functools.partial(patch_tokenizers, notes, known),
        "transformers.models.auto.tokenization_auto": functools.partial(patch_auto_tokenizer, notes, known),
        "timm.models._builder": functools.partial(patch_timm, notes),
        "datasets.load": functools.partial(patch_texts, notes, config),
        "datasets.inspect": patch_lists,
        "datasets": functools.partial(patch_texts, notes, config),
        "evaluate": functools.partial(patch_metrics, notes),
    }
    observer.after_import(calls)


def simplify(name: str) -> str:
    """Return a model's name without its owner and what writers of one model differ in: `Llama-2-7b-hf` is llama27b."""
    last = str(name).rstrip("/").rpartition("/")[2].lower()
    last = re.sub(r"^meta-", "", last)
    last = re.sub(
        r"-(hf|v\d+(\.\d+)?|chat|instruct|base-hf|it|uncased|cased|multilingual|finetuned.*)(?=-|$)", "", last
    )
    return re.sub(r"[-_.]", "", last)


def find_configuration(
    known: dict[str, Any], name: str, settings: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return the configuration of a model by its name, or of the part of it that is asked for; None where it is not
    known."""
    folder = (settings or {}).get("subfolder")
    config = known.get(f"{simplify(name)}/{folder}" if folder else simplify(name))
    if config is None:
        return None if folder else (make_vision(name) or find_documented(name))
    if config.get("vocab_size") == 30522:
        words = next((count for part, count in VOCABULARIES if part in name.lower()), 30522)
        return {**config, "vocab_size": words}
    return {**config}


def make_vision(name: str) -> dict[str, Any] | None:
    """Return the configuration of a vision transformer, which its name tells; None where it is none."""
    match = VIT.search(name.lower())
    if match is None or "google/" not in name:
        return None
    layers, width, heads = VIT_SIZES[match[1]]
    sizes = {"num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": heads}
    return {"model_type": "vit", **sizes, "intermediate_size": 4 * width} | {
        "patch_size": int(match[2]),
        "image_size": int(match[3]),
    }


@functools.cache
def list_documented() -> dict[str, str]:
    """Return which kind of model transformers names beside the defaults of a configuration, by the model's name."""
    transformers: Any = import_module("transformers")
    files = sorted((Path(transformers.__file__).parent / "models").glob("*/configuration_*.py"))
    pairs = [pair for file in files for pair in DOCUMENTED.findall(file.read_text(encoding="utf-8", errors="replace"))]
    return {name.lower(): kind for name, kind in reversed(pairs)}


def find_documented(name: str) -> dict[str, Any] | None:
    """Return a configuration's defaults, where transformers names that model beside them; None where it does not."""
    kind = list_documented().get(name.lower())
    if kind is None:
        return None
    _documented.add(name)
    config = import_module("transformers").AutoConfig.for_model(kind)
    text = config.get_text_config()
    facts = {name: getattr(text, name, None) for name in ("vocab_size", "max_position_embeddings")}
    return {
        "model_type": kind,
        **{name: value for name, value in facts.items() if value is not None and text is config},
    }


def patch_configurations(known: dict[str, Any], module: ModuleType) -> None:
    """Give the configuration of a known name where the hub does not."""
    cls: Any = getattr(module, "PreTrainedConfig", None) or getattr(module, "PretrainedConfig")  # noqa: B009
    ordinary = cls.get_config_dict.__func__

    @functools.wraps(ordinary)
    def get_config_dict(own: Any, name: Any, **kwargs: Any) -> Any:
        try:
            return ordinary(own, name, **kwargs)
        except OSError:
            config = find_configuration(known, str(name), kwargs)
            if config is None:
                raise
            name_architecture(config)
            return config, {key: value for key, value in kwargs.items() if key not in OF_THE_HUB}

    replacement: Any = get_config_dict
    cls.get_config_dict = classmethod(replacement)


def name_architecture(config: dict[str, Any]) -> None:
    """Say which class a published configuration of that kind names: who builds a model may ask for it."""
    autos = import_module("transformers.models.auto.modeling_auto")
    for names in ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_PRETRAINING_MAPPING_NAMES"):
        architecture = getattr(autos, names, {}).get(config["model_type"])
        if isinstance(architecture, str):
            config.setdefault("architectures", [architecture])


def patch_models(notes: Any, module: ModuleType) -> None:
    """Build a model where its weights are not to be had."""
    cls = module.PreTrainedModel
    ordinary = cls.from_pretrained.__func__

    @functools.wraps(ordinary)
    def from_pretrained(own: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary(own, name, *args, **kwargs)
        except OSError:
            config = kwargs.get("config")
            if name is None or os.path.isdir(str(name)):  # noqa: PTH112
                raise
            if config is None or isinstance(config, (str, os.PathLike)):
                settings = {
                    key: value for key, value in kwargs.items() if key in ("num_labels", "use_cache", "subfolder")
                }
                config = own.config_class.from_pretrained(config or name, **settings)
            dtype = kwargs.get("dtype", kwargs.get("torch_dtype"))
            model = own._from_config(config, **({"dtype": dtype} if dtype not in (None, "auto") else {}))
            model.name_or_path = model.config._name_or_path = str(name)  # who has the model asks for what goes with it
            count, guessed = sum(each.numel() for each in model.parameters()), str(name) in _documented
            notes.add("documented" if guessed else "model", str(name), guessed=guessed, parameters=count)
            return model.eval()

    cls.from_pretrained = classmethod(from_pretrained)


def patch_timm(notes: Any, module: ModuleType) -> None:
    """Let a model of timm keep the weights it was built with, where those of its name are not to be had."""
    ordinary = module.load_pretrained

    @functools.wraps(ordinary)
    def load_pretrained(model: Any, *args: Any, **kwargs: Any) -> None:
        try:
            ordinary(model, *args, **kwargs)
        except OSError:
            name = (getattr(model, "pretrained_cfg", None) or {}).get("architecture", type(model).__name__)
            notes.add("weights", f"timm {name}", guessed=False)

    module.load_pretrained = load_pretrained  # type: ignore[attr-defined]


def patch_tokenizers(notes: Any, known: dict[str, Any], module: ModuleType) -> None:
    """Give a tokenizer of bytes where a class's own is not to be had."""
    cls = module.PreTrainedTokenizerBase
    ordinary = cls.from_pretrained.__func__

    @functools.wraps(ordinary)
    def from_pretrained(own: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            tokenizer = ordinary(own, name, *args, **kwargs)
        except (OSError, TypeError, ValueError):
            tokenizer = make_tokenizer(notes, known, str(name), kwargs)
            if tokenizer is None:
                raise
            return tokenizer
        return replace_empty(notes, known, str(name), kwargs, tokenizer)

    cls.from_pretrained = classmethod(from_pretrained)


def patch_auto_tokenizer(notes: Any, known: dict[str, Any], module: ModuleType) -> None:
    """The same for AutoTokenizer, which looks for a class first."""
    ordinary = module.AutoTokenizer.from_pretrained.__func__

    @functools.wraps(ordinary)
    def from_pretrained(own: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            tokenizer = ordinary(own, name, *args, **kwargs)
        except (OSError, ValueError):
            tokenizer = make_tokenizer(notes, known, str(name), kwargs)
            if tokenizer is None:
                raise
            return tokenizer
        return replace_empty(notes, known, str(name), kwargs, tokenizer)

    module.AutoTokenizer.from_pretrained = classmethod(from_pretrained)


def replace_empty(notes: Any, known: dict[str, Any], name: str, settings: dict[str, Any], tokenizer: Any) -> Any:
    """Return a tokenizer as it was given; where it was made of no file, and has next to no tokens, a stand-in."""
    config = find_configuration(known, name, settings)
    if config is None or os.path.isdir(name) or len(tokenizer) * 2 > int(config.get("vocab_size", 0)):  # noqa: PTH112
        return tokenizer
    return make_tokenizer(notes, known, name, settings)


def make_tokenizer(notes: Any, known: dict[str, Any], name: str, settings: dict[str, Any]) -> Any:
    """Return a tokenizer of bytes with as many tokens as the model of that name; None where the name is not known."""
    config = find_configuration(known, name, settings)
    if config is None:
        return None
    import tokenizers
    import transformers

    count = int(config.get("vocab_size", 32000))
    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    special |= {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    names = [*special.values(), *OF_CHATS, *sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())]
    vocabulary = {token: number for number, token in enumerate(names)}
    vocabulary |= {f"<token {number}>": number for number in range(len(vocabulary), count)}
    inner = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    longest = settings.get("model_max_length") or config.get("max_position_embeddings") or 2048
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, model_max_length=longest, **special)
    tokenizer.padding_side = settings.get("padding_side", "right")
    if config["model_type"].startswith("qwen") or re.search(r"instruct|chat|-it\b", name.lower()):
        tokenizer.chat_template = CHAT
    if config["model_type"] in ("llama", "gpt2", "opt", "mistral", "qwen2", "qwen3"):
        tokenizer.pad_token = None if config["model_type"] != "opt" else "<pad>"
    notes.add("tokenizer", name, guessed=True, tokens=count)
    return tokenizer


def patch_texts(notes: Any, settings: dict[str, Any], module: ModuleType) -> None:
    """Give rows of text where a set is not to be had."""
    ordinary = getattr(module, "load_dataset", None)  # a program's own module may have the library's name
    if ordinary is None or getattr(ordinary, "stands_in", False):
        return

    @functools.wraps(ordinary)
    def load_dataset(path: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary(path, *args, **kwargs)
        except Exception as problem:
            if not isinstance(problem, OSError) and type(problem).__name__ != "DatasetNotFoundError":
                raise
            split = kwargs.get("split", args[3] if len(args) > 3 else None)
            part = kwargs.get("name", args[0] if args else None)
            rows = make_texts(notes, settings, f"{path}/{part}" if part else str(path), split)
            return make_stream(rows) if kwargs.get("streaming") else rows

    load_dataset.stands_in = True  # type: ignore[attr-defined]
    module.load_dataset = load_dataset  # type: ignore[attr-defined]


def make_stream(rows: Any) -> Any:
    """Return sets as they come where they are read while they are loaded."""
    if isinstance(rows, list):
        return [make_stream(each) for each in rows]
    if not hasattr(rows, "to_iterable_dataset"):
        return import_module("datasets").IterableDatasetDict({name: make_stream(each) for name, each in rows.items()})
    return rows.to_iterable_dataset()


def patch_lists(module: ModuleType) -> None:
    """Name the parts of a set that is not to be had."""
    for name, answer in (("get_dataset_config_names", ["default"]), ("get_dataset_split_names", [*SPLITS])):
        setattr(module, name, answer_offline(getattr(module, name), answer))
        setattr(import_module("datasets"), name, getattr(module, name))


def answer_offline(ordinary: Callable[..., Any], answer: list[str]) -> Callable[..., Any]:
    """Return a function that answers where the hub does not."""

    @functools.wraps(ordinary)
    def ask(*args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary(*args, **kwargs)
        except Exception as problem:
            if not isinstance(problem, OSError) and type(problem).__name__ != "DatasetNotFoundError":
                raise
            return [*answer]

    return ask


def make_texts(notes: Any, settings: dict[str, Any], name: str, split: Any) -> Any:
    """Return a set of rows, or its parts by name where no split is asked for; several where several are."""
    datasets: Any = import_module("datasets")

    _, texts, numbers = next(each for each in TEXTS if re.search(each[0], name.lower()))
    wanted = int(settings.get("rows", ROWS))
    count = min(wanted, MOST_MADE)  # more of them are the same ones again, at no cost
    names = [*dict.fromkeys((*texts, *settings.get("columns", ())))]
    columns: dict[str, Any] = {column: make_column(column, count) for column in names}
    columns |= {column: [row % classes for row in range(count)] for column, classes in numbers.items()}
    rows = datasets.Dataset.from_dict(columns)
    if wanted > count:
        rows = datasets.concatenate_datasets([rows] * -(-wanted // count))
    for column, classes in numbers.items():
        if column in CLASSES and classes > 1 and hasattr(datasets, "ClassLabel"):
            rows = rows.cast_column(column, datasets.ClassLabel(names=[str(number) for number in range(classes)]))
    notes.add(
        "texts",
        name,
        guessed=True,
        rows=-(-wanted // count) * count,
        words=6 * len(WORDS.split()),
        columns=sorted(columns),
    )
    if isinstance(split, (list, tuple)):
        return [rows] * len(split)
    return rows if split is not None else datasets.DatasetDict(dict.fromkeys(SPLITS, rows))


def make_column(name: str, count: int) -> list[Any]:
    """Return so many values for a column: what its name says of their kind."""
    text = WORDS * 6
    if name in PICTURES:
        image: Any = import_module("PIL.Image")
        return [image.new("RGB", PICTURE)] * count
    if name in TALKS:
        return [[{"role": "user", "content": text}, {"role": "assistant", "content": text}]] * count
    return [row % 2 for row in range(count)] if name in NUMBERS else [text] * count


def patch_metrics(notes: Any, module: ModuleType) -> None:
    """Give a measure that counts nothing where the hub does not give it: a rehearsal has no values to judge."""
    ordinary = getattr(module, "load", None)
    if ordinary is None:
        return

    class Measure:
        """Takes what is predicted, and tells nothing of it."""

        def add_batch(self, *args: Any, **kwargs: Any) -> None:
            """Keep nothing."""

        add = add_batch

        def compute(self, *args: Any, **kwargs: Any) -> dict[str, float]:
            return dict.fromkeys(("accuracy", "f1", "precision", "recall", "loss"), 0.0)

    @functools.wraps(ordinary)
    def load(path: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return ordinary(path, *args, **kwargs)
        except OSError:
            notes.add("metric", str(path), guessed=False)
            return Measure()

    module.load = load  # type: ignore[attr-defined]
