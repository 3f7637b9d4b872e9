"""The tokenizer of a Hugging Face folder: tokenizer.json, or the older vocabulary files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chainrule.codecs.base import CodecConfig, Texts
from chainrule.codecs.huggingface import HuggingFace, Roles
from chainrule.codecs.rust import no_panic
from chainrule.errors import BundleError, CodecError
from chainrule.interop.huggingface.layout import Format
from chainrule.interop.huggingface.values import Values, content

PIECES = {
    "pad": "[PAD]",
    "bos": "[CLS]",
    "eos": "[SEP]",
    "unk": "[UNK]",
    "mask": "[MASK]",
}  # usual in a vocab.txt
STRANGE = "ꙮ"  # a letter that hardly any tokenizer knows: that must not stop it
SENTENCEPIECE = ("source.spm", "spiece.model", "sentencepiece.bpe.model")
GENERATION = "generation_config.json"
TOKENIZER, TOKENS, MAP = "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"
TEMPLATE = "chat_template.jinja"


def codec_of(folder: Path, values: Values, form: Format) -> HuggingFace:
    """The codec for their tokenizer: one row of the table for every id."""
    settings, more = Values.read(folder / TOKENS), Values.read(folder / MAP)
    rows = values.whole("vocab_size", form.rows)
    found: dict[str, str] = {}
    for role, names in form.names.items():
        given = (_token(source.found.get(name)) for name in names for source in (settings, more))
        token = next(filter(None, given), None)
        found |= {role: token} if token else {}
    text = tokenizer_of(folder, settings, form, found)
    roles = _roles(text, found, values, form)
    try:
        codec = HuggingFace(CodecConfig(), text, roles, rows, _suppressed(folder, rows))
        codec.encode(Texts.of([STRANGE]))
        return codec
    except CodecError as error:
        raise BundleError(f"{folder}: {error}") from error


def chat_template(folder: Path) -> str | None:
    """How messages become a prompt, as Jinja; None: it was made for no chats."""
    file = folder / TEMPLATE
    if file.is_file():
        return file.read_text(encoding="utf-8", errors="replace")
    found = Values.read(folder / TOKENS).found.get("chat_template")
    return found if isinstance(found, str) else None


def _suppressed(folder: Path, rows: int) -> tuple[int, ...]:
    """Ids that are never to be generated."""
    found = Values.read(folder / GENERATION).found.get("suppress_tokens")
    numbers = found if isinstance(found, list) else []
    return tuple(sorted({one for one in numbers if type(one) is int and 0 <= one < rows}))


def _token(value: Any) -> str | None:
    """A token in a settings file: a word, or an object around it."""
    value = value.get("content") if isinstance(value, dict) else value
    return value if isinstance(value, str) else None


def _roles(text: str, found: dict[str, str], values: Values, form: Format) -> Roles:
    """What the settings say, then the ids in config.json, then what is usual; only tokens that exist."""
    vocabulary = backend(text, values.path.parent / TOKENIZER).get_vocab(with_added_tokens=True)
    tokens = {number: token for token, number in vocabulary.items()}
    roles: dict[str, str | None] = {}
    for role in form.names:
        number = values.found.get(form.key(role))
        number = number[0] if isinstance(number, list) and number else number
        by_number = tokens.get(number) if type(number) is int else None
        wishes = (found.get(role), by_number, form.tokens.get(role), PIECES[role])
        roles[role] = next((one for one in wishes if one is not None and one in vocabulary), None)
    return roles


def tokenizer_of(folder: Path, settings: Values, form: Format, tokens: dict[str, str]) -> str:
    """tokenizer.json as it is, or made of the older files."""
    if (folder / TOKENIZER).is_file():
        return content(folder / TOKENIZER)
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        made = _byte_pairs(folder, settings)
    elif (folder / "vocab.txt").is_file():
        made = _word_pieces(folder, settings, PIECES | tokens)
    else:
        pieces = next((name for name in SENTENCEPIECE if (folder / name).exists()), None)
        also = f" {pieces} is a file of SentencePiece, which is not read." if pieces else ""
        raise BundleError(
            f"{folder} has no tokenizer: {TOKENIZER}, or vocab.json with merges.txt, or vocab.txt was expected.{also}"
        )
    wanted, known = [*form.tokens.values(), *PIECES.values(), *tokens.values()], made.get_vocab()
    made.add_special_tokens([one for one in dict.fromkeys(wanted) if one in known])
    return str(made.to_str())


def _byte_pairs(folder: Path, settings: Values) -> Any:
    """GPT-2's tokenizer, from its two files."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, pre_tokenizers

    vocabulary = Values.read(folder / "vocab.json").found
    lines = filter(None, content(folder / "merges.txt").split("\n"))
    merges = [
        (left, right) for left, _, right in (line.partition(" ") for line in lines) if left != "#version:"
    ]
    try:
        with no_panic("loading a tokenizer"):
            made = Backend(models.BPE(dict(vocabulary), merges))
    except Exception as error:  # the library raises bare Exceptions
        raise BundleError(f"{folder}: vocab.json and merges.txt do not fit together ({error}).") from error
    prefix = settings.flag("add_prefix_space", False)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    made.decoder = decoders.ByteLevel()
    return made


def _word_pieces(folder: Path, settings: Values, tokens: dict[str, str]) -> Any:
    """BERT's tokenizer, from its WordPiece vocabulary."""
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

    lines = content(folder / "vocab.txt").removesuffix("\n").split("\n")
    vocabulary = {line.rstrip("\r"): place for place, line in enumerate(lines)}
    made = Backend(models.WordPiece(vocabulary, unk_token=tokens["unk"]))
    made.normalizer = normalizers.BertNormalizer(
        handle_chinese_chars=settings.flag("tokenize_chinese_chars", True),
        strip_accents=settings.flag("strip_accents", False) if "strip_accents" in settings.found else None,
        lowercase=settings.flag("do_lower_case", True),
    )
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    begin, end = tokens["bos"], tokens["eos"]
    if begin in vocabulary and end in vocabulary:
        made.post_processor = processors.BertProcessing((end, vocabulary[end]), (begin, vocabulary[begin]))
    return made


def backend(text: str, path: Path) -> Any:
    """The library's tokenizer, as the file says."""
    from tokenizers import Tokenizer as Backend

    try:
        with no_panic("loading a tokenizer"):
            return Backend.from_str(text)
    except Exception as error:  # the library raises bare Exceptions
        raise BundleError(
            f"{path} is damaged or of a newer kind ({error}). Copy the folder again."
        ) from error
