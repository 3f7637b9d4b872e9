"""Counting models beside KenLM: exactness, speed, memory. Prints a Markdown table.

    python benchmarks/ngram.py                                   # Penn Treebank, from $CHAINRULE_DATA
    python benchmarks/corpus.py small.txt large.txt 75000000     # a large text, made from a small one
    python benchmarks/ngram.py --large large.txt                 # adds the large runs
    LMPLZ=…/lmplz python benchmarks/ngram.py                     # adds KenLM's estimator, if you have built it

Times are medians; what is compared alternates within this one run. Keep the machine otherwise idle.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import chainrule
from chainrule.bundle import Bundle
from chainrule.codecs.base import Texts
from chainrule.interop.arpa import export_arpa, import_arpa
from chainrule.symbols import BOS

DATA = Path(os.environ.get("CHAINRULE_DATA", "../shared/data"))
TURNS = 5
PERPLEXITY = 141.186  # KenLM's lmplz, 5-gram, on the same files


def seconds(work: Callable[[], Any]) -> float:
    """How long one call takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def alternating(*works: Callable[[], Any], turns: int = TURNS) -> list[float]:
    """Median seconds of each, run in turn."""
    taken = [[seconds(work) for work in works] for _ in range(turns)]
    return [statistics.median(times) for times in zip(*taken, strict=True)]


def row(what: str, value: str, bar: str = "") -> None:
    """One line of the table."""
    print(f"| {what} | {value} | {bar} |", flush=True)


def command(*words: str) -> tuple[float, float, str]:
    """Run in a process of its own: seconds, peak resident gigabytes, what it printed."""
    timed = ["/usr/bin/time", "-f", "%M", sys.executable, "-m", "chainrule.cli", *words]
    began = time.perf_counter()
    done = subprocess.run(timed, capture_output=True, text=True, check=False)
    took = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{done.stderr}")
    return took, int(done.stderr.strip().splitlines()[-1]) / 1e6, done.stdout


def ours(bundle: Bundle, lines: list[str]) -> np.ndarray:
    """Base-10 logarithms of every word and end."""
    ids = bundle.codec.encode(Texts.of(lines)).ids
    return bundle.model.score_ids(ids)[ids != BOS] / np.log(10)


def exactness(ptb: Path, folder: Path) -> Bundle:
    """Perplexity, and the same numbers through ARPA in KenLM's own reader."""
    import kenlm

    fit = lambda: chainrule.fit(ptb / "ptb.train.txt", valid=ptb / "ptb.valid.txt", **HOW)  # noqa: E731
    bundle = fit()
    perplexity = bundle.score_file(ptb / "ptb.test.txt").perplexity
    row("PTB test perplexity, order 5, closed", f"{perplexity:.3f}", f"{PERPLEXITY} ± 0.01")
    row("PTB text to usable model, warm", f"{alternating(fit)[0]:.2f} s", "< 1.5 s")
    lines = (ptb / "ptb.test.txt").read_text().splitlines()
    arpa = folder / "ptb.arpa"
    export_arpa(bundle.model, bundle.codec, arpa)  # type: ignore[arg-type]
    theirs = kenlm.LanguageModel(str(arpa))
    reference = np.array([log for line in lines for log, _, _ in theirs.full_scores(line)])
    row(
        "our ARPA in KenLM, worst of all test words",
        f"{np.abs(reference - ours(bundle, lines)).max():.1e}",
        "1e-4 log10",
    )
    model, codec = import_arpa(arpa)
    back = ours(Bundle.of(codec, model), lines)
    row("the same ARPA read by us, worst", f"{np.abs(reference - back).max():.1e}", "1e-4 log10")
    return bundle


HOW: dict[str, Any] = {"model": "ngram", "order": 5, "codec": "words", "closed": True}


def scoring(bundle: Bundle, ptb: Path, folder: Path) -> None:
    """Whole files, text to total, beside `kenlm.Model.score` on the same sentences."""
    import kenlm

    theirs = kenlm.LanguageModel(str(folder / "ptb.arpa"))
    for name in ("ptb.test.txt", "ptb.train.txt"):
        lines = (ptb / name).read_text().splitlines()
        words = sum(len(line.split()) + 1 for line in lines)
        mine, other = alternating(partial(bundle.score_file, ptb / name), partial(score_all, theirs, lines))
        rates = f"{words / mine / 1e6:.2f} M/s, KenLM {words / other / 1e6:.2f} M/s: {other / mine:.2f}x"
        row(f"scoring {name}, words per second", rates, ">= 1x")


def score_all(model: Any, lines: list[str]) -> list[float]:
    """As its users do."""
    return [model.score(line) for line in lines]


def estimator(ptb: Path, folder: Path) -> None:
    """KenLM's own estimator and binary builder on the same text, when there is one."""
    lmplz = os.environ.get("LMPLZ") or shutil.which("lmplz")
    if not lmplz:
        print("\n(lmplz is not on the path and LMPLZ is not set: KenLM's estimator is not timed.)\n")
        return
    text = folder / "ptb.txt"  # KenLM refuses `<unk>` in the text
    text.write_text((ptb / "ptb.train.txt").read_text().replace("<unk>", "UNK"))
    took = alternating(lambda: kenlm_model(lmplz, text, folder), turns=3)[0]
    row("KenLM's lmplz + build_binary on PTB", f"{took:.2f} s")


def kenlm_model(lmplz: str, text: Path, folder: Path) -> None:
    """Estimate and build as its manual says."""
    arpa = folder / "lmplz.arpa"
    with text.open() as given, arpa.open("w") as out:
        words = [lmplz, "-o", "5", "-S", "6G", "-T", str(folder)]
        subprocess.run(words, stdin=given, stdout=out, stderr=subprocess.DEVNULL, check=True)
    builder = str(Path(lmplz).with_name("build_binary"))
    subprocess.run([builder, arpa, folder / "lmplz.bin"], capture_output=True, check=True)


def large(text: Path, folder: Path) -> None:
    """A large text: time, memory, the memory limit, opening the result."""
    words = ["--model", "ngram", "--order", "5", "--codec", "words", "--valid", str(folder / "tail.txt")]
    with text.open("rb") as file:
        file.seek(-1_000_000, os.SEEK_END)
        (folder / "tail.txt").write_bytes(file.read().split(b"\n", 1)[1])
    plain, limited = folder / "large", folder / "limited"
    took, peak, _ = command("fit", str(text), *words, "-o", str(plain), "--json")
    row(
        f"{text.name} ({text.stat().st_size / 1e6:.0f} MB), order 5, fit and save",
        f"{took:.1f} s, {peak:.2f} GB",
        "< 60 s, < 6 GB",
    )
    took, peak, _ = command("fit", str(text), *words, "-o", str(limited), "--memory", "2G", "--json")
    row("the same with --memory 2G", f"{took:.1f} s, {peak:.2f} GB", "bounded")
    same = digest(plain / "model.safetensors") == digest(limited / "model.safetensors")
    row("the same to the bit", str(same), "True")
    opening = alternating(lambda: chainrule.load(plain))[0]
    size = (plain / "model.safetensors").stat().st_size / 1e9
    row(f"opening that model ({size:.2f} GB)", f"{opening:.3f} s", "< 0.2 s")
    if lmplz := os.environ.get("LMPLZ") or shutil.which("lmplz"):
        clean = folder / "clean.txt"
        clean.write_bytes(text.read_bytes().replace(b"<unk>", b"UNK"))
        row(
            "KenLM's lmplz + build_binary on it",
            f"{seconds(lambda: kenlm_model(lmplz, clean, folder)):.1f} s",
        )


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def start_up() -> None:
    """How long `chainrule --help` and a whole `fit` take as commands."""
    took = statistics.median(command("--help")[0] for _ in range(TURNS))
    row("chainrule --help", f"{took:.2f} s", "< 0.4 s")


def main() -> None:
    """Everything asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", type=Path, help="a large text, one sentence a line")
    parser.add_argument("--folder", type=Path, help="where large files may go (default: a temporary folder)")
    wanted = parser.parse_args()
    ptb = DATA / "ptb"
    if not ptb.is_dir():
        sys.exit(f"There is no {ptb}. Set CHAINRULE_DATA to the folder that holds ptb/ptb.train.txt.")
    print("| what | measured | bar |\n|---|---|---|")
    with tempfile.TemporaryDirectory(dir=wanted.folder) as temporary:
        folder = Path(temporary)
        start_up()
        bundle = exactness(ptb, folder)
        scoring(bundle, ptb, folder)
        took = statistics.median(fit_command(ptb, folder / f"{turn}") for turn in range(3))
        row("chainrule fit PTB as a command, saved, judged", f"{took:.2f} s")
        estimator(ptb, folder)
        if wanted.large:
            large(wanted.large, folder)


def fit_command(ptb: Path, out: Path) -> float:
    """Seconds of the whole command, process start included."""
    words = ("--model", "ngram", "--order", "5", "--codec", "words", "--closed", "-o", str(out), "--json")
    parts = ("--valid", str(ptb / "ptb.valid.txt"), "--test", str(ptb / "ptb.test.txt"))
    took, _, printed = command("fit", str(ptb / "ptb.train.txt"), *parts, *words)
    assert abs(json.loads(printed)["test"]["perplexity"] - PERPLEXITY) < 0.01
    return took


if __name__ == "__main__":
    main()
