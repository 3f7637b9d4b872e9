"""Hostile input, in the process itself: every reader and loader gets examples with something changed in them."""

from __future__ import annotations

import io
import json
import math
import re
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from faults import Section, Wrong
from workshop import some_model

import chainrule as cr
from chainrule.cli import main
from chainrule.config import amount, read_toml
from chainrule.data.where import Condition
from chainrule.interop.arpa import import_arpa
from chainrule.interop.huggingface import import_hf
from chainrule.store import manifest, tensors
from chainrule.train import checkpoint
from chainrule.train.config import TrainConfig
from chainrule.train.schedule import duration

PIECES = [
    *(
        b"\x00",
        b"\xff",
        b"\xff\xfe",
        b"\x80",
        b"\r",
        b"\n\n",
        b"\t",
        b'"',
        b"'",
        b",",
        b"{",
        b"[" * 2000,
        b"\\ud800",
    ),
    *(
        b"\\",
        b"-",
        b"-1",
        b"0",
        b"1e999",
        b"9" * 400,
        b"9" * 5000,
        b"NaN",
        b"null",
        b"true",
        b"\xe2\x80\xa8",
        b"\x1f",
    ),
]
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    10**30,
    10**400,
    1.5,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
]
VALUES += ["", "x", "\ud800", "/etc/passwd", "../x", "-1", [], {}, [None], ["x"], [[-1]], {"x": 1}, [5] * 300]


def mutated(random: Random, data: bytes) -> bytes:
    """The same bytes with one to three changes."""
    found = bytearray(data)
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(found) + 1)
        end = min(len(found), at + random.choice([1, 1, 2, 8, 64, 1024]))
        change = random.randrange(7)
        if change == 0 and at < len(found):
            found[at] ^= 1 << random.randrange(8)
        elif change == 1:
            del found[at:end]
        elif change == 2:
            found[at:at] = random.choice(PIECES)
        elif change == 3:
            found[at:end] = random.choice(PIECES)
        elif change == 4:
            found[at:at] = found[at:end]
        elif change == 5:
            del found[at:]
        else:
            found = bytearray(_other_number(random, bytes(found)))
    return bytes(found)


def _other_number(random: Random, data: bytes) -> bytes:
    numbers = list(re.finditer(rb"-?\d+(?:\.\d+)?", data[: 1 << 16]))
    if not numbers:
        return data
    one = random.choice(numbers)
    return (
        data[: one.start()]
        + random.choice([b"-1", b"0", b"1e400", b"9" * 30, b"1.5", b"nan"])
        + data[one.end() :]
    )


def mutated_json(random: Random, data: bytes) -> bytes:
    """The same JSON with another value, or without one."""
    values = json.loads(data)
    places = list(_places(values))
    if not places:
        return mutated(random, data)
    holder, key = random.choice(places)
    if random.random() < 0.2:
        del holder[key]
    else:
        holder[key] = random.choice(VALUES)
    return json.dumps(values).encode()


def _places(values: Any) -> Any:
    keys = (
        values.keys() if isinstance(values, dict) else range(len(values)) if isinstance(values, list) else ()
    )
    for key in list(keys)[:300]:
        yield values, key
        yield from _places(values[key])


def changed(random: Random, path: Path) -> None:
    """Change a file; of JSON, half of the time a value."""
    data = path.read_bytes()
    if path.suffix == ".safetensors" and random.random() < 0.6:
        _change_tensors(random, path)
    elif path.suffix == ".json" and random.random() < 0.6:
        path.write_bytes(mutated_json(random, data))
    else:
        path.write_bytes(mutated(random, data))


def _change_tensors(random: Random, path: Path) -> object:
    """A sound file with other arrays in it."""
    arrays = {name: array.copy() for name, array in tensors.read(path).items()}
    if not arrays:
        return path.write_bytes(mutated(random, path.read_bytes()))
    name = random.choice(sorted(arrays))
    array, change = arrays[name], random.randrange(6)
    if change == 0:
        del arrays[name]
    elif change == 1:
        arrays[name] = array.reshape(-1)[: max(0, array.size - 1)]
    elif change == 2:
        arrays[name] = array.astype(random.choice([np.int8, np.int64, np.float64, np.float16]))
    elif change == 3 and array.size:
        odd = [np.nan, np.inf, -np.inf, 1e30] if array.dtype.kind == "f" else [-1, 2**31 - 1, 127, 0]
        array.reshape(-1)[random.randrange(array.size)] = np.array(random.choice(odd)).astype(array.dtype)
    elif change == 4:
        arrays[name] = np.concatenate([array, array]) if array.ndim else array.reshape(1)
    else:
        arrays[name + "x"] = array
    return tensors.write(path, arrays)


def data_files(examples: Path, place: Path, random: Random) -> None:
    """Data of every format."""
    source = random.choice(
        sorted(one for one in (examples / "data").iterdir() if one.name != "settings.toml")
    )
    path = place / source.name
    path.write_bytes(mutated(random, source.read_bytes()))
    options: dict[str, Any] = {}
    if path.suffix in (".csv", ".tsv", ".jsonl", ".parquet") and "numbers" not in path.name:
        options = random.choice([{}, {"column": "text"}, {"column": "label", "group": "n", "sort": "n"}])
    if random.random() < 0.1:
        options |= {"codec": random.choice(["bytes", "characters", "words", "subwords"])}
    cr.check(path, **options)


def settings_files(examples: Path, place: Path, random: Random) -> None:
    """TOML, and values as they are typed."""
    path = place / "settings.toml"
    path.write_bytes(mutated(random, (examples / "data" / "settings.toml").read_bytes()))
    typed = mutated(random, random.choice([b"10k", b"1.5M", b"2h", b"90s", b"stars >= 4", b"a == 'b'"]))
    text = typed.decode("utf-8", "surrogateescape")
    for read in (duration, Condition.parsed, _amount):
        try:
            read(text)
        except cr.ChainruleError:
            continue
    TrainConfig.from_values(
        {name: one for name, one in read_toml(path).items() if name in ("seed", "lr", "epochs")}
    )
    read_toml(path)


def _amount(text: str) -> None:
    with suppress(ValueError):  # what those who call it expect
        amount(text)


def arpa_files(examples: Path, place: Path, random: Random) -> None:
    """Models in ARPA format."""
    path = place / "some.arpa"
    path.write_bytes(mutated(random, (examples / "foreign" / "small.arpa").read_bytes()))
    model, codec = import_arpa(path, random.choice(["words", "words", "events"]))
    _use(cr.Bundle.of(codec, model), random)


def tensor_files(examples: Path, place: Path, random: Random) -> None:
    """Files of arrays."""
    path = place / "some.safetensors"
    shutil.copy(some_model(random, examples) / "model.safetensors", path)
    path.write_bytes(mutated(random, path.read_bytes()))
    for array in tensors.read(path).values():
        array.sum()


def checkpoints(examples: Path, place: Path, random: Random) -> None:
    """What a training is resumed from."""
    shutil.copy(examples / "runs" / "lm.run" / checkpoint.FILE, place / checkpoint.FILE)
    changed(random, place / checkpoint.FILE)
    checkpoint.load(place)


def foreign_folders(examples: Path, place: Path, random: Random) -> None:
    """Folders of Hugging Face."""
    folder = shutil.copytree(examples / "foreign" / random.choice(["gpt", "bert"]), place / "hf")
    changed(random, random.choice(sorted(folder.iterdir())))
    _use(import_hf(folder), random)


def signed_models(examples: Path, place: Path, random: Random) -> None:
    """Saved models that somebody has changed and signed again."""
    folder = shutil.copytree(some_model(random, examples), place / "lm")
    files = sorted(one for one in folder.rglob("*") if one.is_file() and one.name != manifest.MARK)
    changed(random, random.choice(files))
    manifest.write(folder)
    _use(cr.load(folder), random)


def _use(bundle: cr.Bundle, random: Random) -> None:
    """Score, generate and save; what is no probability is an answer that is wrong."""
    text = random.choice(["she was late", "", "he 3 zebra", "1 2 3"])
    found = bundle.score(text)
    if math.isnan(found.log2prob) or any(
        math.isnan(one.log2prob) or one.log2prob > 1e-3 for one in found.tokens
    ):
        raise Wrong(f"{text!r} has {found.log2prob} bits")
    if bundle.model.reads == "left":
        bundle.generate("she", 4, seed=random.randrange(9))
        bundle.complete("she w", 2, 2)
    repr(bundle), bundle.parameters


WORDS = [
    "--json",
    "-q",
    "-k",
    "--length",
    "--seed",
    "--beam",
    "--top-p",
    "--temperature",
    "--count",
    "--int8",
    "--each",
]
WORDS += [
    "--id",
    "--column",
    "--where",
    "--verify",
    "--tokens",
    "--bits",
    "--help",
    "--unknown",
    "--stop",
    "-",
    "--",
]
TYPED = [
    "-1",
    "0",
    "1",
    "2",
    "1e999",
    "nan",
    "x",
    "",
    "she was",
    "\udcff",
    "a\x00b",
    "9" * 30,
    "n > 3",
    "--x",
    "é" * 300,
]
VERBS = [
    "score",
    "generate",
    "complete",
    "rank",
    "show",
    "models",
    "check",
    "embed",
    "fill",
    "forecast",
    "anomalies",
]


def commands(examples: Path, place: Path, random: Random) -> str | None:
    """Words nobody would type."""
    files = [str(one) for one in (examples / "data").iterdir()]
    models = [str(examples / "models" / name) for name in ("ngram", "gru", "bert", "numbers")]
    words = [random.choice(VERBS), random.choice([*models, *models, *TYPED])]
    for _ in range(random.randint(0, 4)):
        words.append(random.choice([*WORDS, *TYPED, random.choice(files)]))
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    if code not in (0, 1, 2) or "chainrule: unexpected " in err.getvalue():
        raise RuntimeError(f"{words}: {code}: {err.getvalue().strip()[-200:]}")
    return "success" if code == 0 else "refused"


def _section(
    name: str, wanted: int, share: float, case: Callable[[Path, Path, Random], str | None]
) -> Section:
    return Section(name, wanted, share, case)


SECTIONS = [
    _section("data files", 5000, 2.0, data_files),
    _section("settings files", 3000, 0.3, settings_files),
    _section("ARPA files", 3000, 0.7, arpa_files),
    _section("tensor files", 3000, 0.3, tensor_files),
    _section("checkpoints", 2000, 0.3, checkpoints),
    _section("Hugging Face folders", 3000, 1.0, foreign_folders),
    _section("models signed again", 6000, 2.0, signed_models),
    _section("command lines", 2000, 1.0, commands),
]
