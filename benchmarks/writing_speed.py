"""Decoding a Transformer by beam search: chainrule, Hugging Face's `generate` and CTranslate2 on the same weights.

    pip install -c constraints.txt ctranslate2 transformers      # both are among the dev dependencies
    python benchmarks/writing_speed.py MODEL test.en [--target test.de] [--turns 5] [--systems chainrule ctranslate2]

The model is exported (`chainrule export hf`, so it needs --norm post and one vocabulary) and converted
(`ct2-transformers-converter`). Every system is a process of its own that stays; they take turns, one at a time, and
translate the whole file, 64 sentences of similar length at once, tokenising included. Medians, of seconds and of
seconds of CPU (with one thread these two differ only where other programs run). Prints a Markdown table; with --target
also BLEU. Threads: OMP_NUM_THREADS, for all of them alike.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROWS, BEAM, LONGEST = 64, 5, 200
SYSTEMS = ("chainrule", "chainrule-int8", "transformers", "ctranslate2", "ctranslate2-int8")
Translate = Callable[[list[str]], list[str]]


def chainrule(folder: Path, int8: bool = False) -> Translate:
    """Ours."""
    import chainrule as cr

    model = cr.load(folder / "model")
    model = model.compressed() if int8 else model
    return lambda texts: [one.text for one in model.translate(texts, beam=BEAM, length_penalty=1.0)]


def batched(translate: Translate) -> Translate:
    """Sentences of similar length together."""

    def sorted_first(texts: list[str]) -> list[str]:
        order = sorted(range(len(texts)), key=lambda place: -len(texts[place].split()))
        found = [""] * len(texts)
        for first in range(0, len(order), ROWS):
            some = order[first : first + ROWS]
            for place, text in zip(some, translate([texts[place] for place in some]), strict=True):
                found[place] = text
        return found

    return sorted_first


def transformers(folder: Path) -> Translate:
    """Hugging Face's `generate`."""
    import torch
    from transformers import AutoTokenizer, MarianMTModel

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
    tokenizer = AutoTokenizer.from_pretrained(folder / "hf")
    model = MarianMTModel.from_pretrained(folder / "hf").eval()

    @torch.inference_mode()
    def translate(texts: list[str]) -> list[str]:
        given = tokenizer(texts, return_tensors="pt", padding=True, return_token_type_ids=False)
        found = model.generate(
            **given, num_beams=BEAM, do_sample=False, length_penalty=1.0, max_new_tokens=LONGEST
        )
        return [text.strip() for text in tokenizer.batch_decode(found, skip_special_tokens=True)]

    return batched(translate)


def ctranslate2(folder: Path, kind: str = "float32") -> Translate:
    """CTranslate2."""
    import ctranslate2
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder / "hf")
    threads = int(os.environ.get("OMP_NUM_THREADS", "2"))
    model = ctranslate2.Translator(
        str(folder / "ct2"), device="cpu", compute_type=kind, inter_threads=1, intra_threads=threads
    )

    def translate(texts: list[str]) -> list[str]:
        tokens = [tokenizer.convert_ids_to_tokens(ids) for ids in tokenizer(texts)["input_ids"]]
        options = {"beam_size": BEAM, "length_penalty": 1.0, "disable_unk": True}
        found = model.translate_batch(tokens, max_decoding_length=LONGEST, **options)
        ids = [tokenizer.convert_tokens_to_ids(one.hypotheses[0]) for one in found]
        return [text.strip() for text in tokenizer.batch_decode(ids, skip_special_tokens=True)]

    return batched(translate)


MAKERS: dict[str, Callable[[Path], Translate]] = {
    "chainrule": chainrule,
    "chainrule-int8": lambda folder: chainrule(folder, int8=True),
    "transformers": transformers,
    "ctranslate2": ctranslate2,
    "ctranslate2-int8": lambda folder: ctranslate2(folder, "int8"),
}


def work(system: str, folder: Path) -> None:
    """A process: for every line of input all sources are translated, and the seconds are printed."""
    translate, texts = MAKERS[system](folder), (folder / "source").read_text("utf-8").splitlines()
    translate(texts[: 2 * ROWS])
    print("ready", flush=True)
    for _ in sys.stdin:
        began, worked = time.perf_counter(), time.process_time()
        found = translate(texts)
        print(time.perf_counter() - began, time.process_time() - worked, flush=True)
        (folder / system).write_text("\n".join(found) + "\n", "utf-8")


def prepared(folder: Path, model: Path, source: Path, lines: int | None) -> None:
    """The model in every format, and the sources."""
    (folder / "model").symlink_to(model.resolve())
    texts = source.read_text("utf-8").splitlines()[:lines]
    (folder / "source").write_text("\n".join(texts) + "\n", "utf-8")
    chainrule = [sys.executable, "-m", "chainrule"]
    subprocess.run([*chainrule, "export", "hf", str(model), str(folder / "hf"), "-q"], check=True)
    converter = str(Path(sys.executable).parent / "ct2-transformers-converter")
    words = [converter, "--model", str(folder / "hf"), "--output_dir", str(folder / "ct2")]
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)


def in_turns(folder: Path, systems: list[str], turns: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds, and those of CPU, of every turn of every system, one working at a time."""
    run = [sys.executable, __file__, "--work", str(folder)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = {name: subprocess.Popen([*run, name], **pipes) for name in systems}  # type: ignore[call-overload]
    try:
        for worker in workers.values():
            worker.stdout.readline()
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
        for _ in range(turns):
            for name, worker in workers.items():
                worker.stdin.write("\n")
                worker.stdin.flush()
                wall, cpu = map(float, worker.stdout.readline().split())
                taken[name].append((wall, cpu))
        return taken
    finally:
        for worker in workers.values():
            worker.communicate()


def report(folder: Path, taken: dict[str, list[tuple[float, float]]], target: Path | None) -> None:
    """A row for each system."""
    middle = {
        name: [statistics.median(one) for one in zip(*times, strict=True)] for name, times in taken.items()
    }
    ours = middle.get("chainrule", next(iter(middle.values())))
    first = (folder / next(iter(taken))).read_text("utf-8").splitlines()
    print("| system | seconds | of CPU | beside the first | of CPU | sentences/s | equal texts | BLEU |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (wall, cpu) in middle.items():
        texts = (folder / name).read_text("utf-8").splitlines()
        equal = sum(one == two for one, two in zip(first, texts, strict=True))
        print(
            f"| {name} | {wall:.2f} | {cpu:.2f} | {wall / ours[0]:.2f}x | {cpu / ours[1]:.2f}x | "
            f"{len(texts) / wall:,.0f} | {equal} of {len(texts)} | {bleu(texts, target)} |"
        )


def bleu(texts: list[str], target: Path | None) -> str:
    """Cased BLEU, if there is something to compare with."""
    if target is None:
        return ""
    from sacrebleu import corpus_bleu

    right = target.read_text("utf-8").splitlines()[: len(texts)]
    return f"{corpus_bleu(texts, [right]).score:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("--target", type=Path)
    parser.add_argument("--lines", type=int)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        prepared(Path(place), given.model, given.source, given.lines)
        report(Path(place), in_turns(Path(place), given.systems, given.turns), given.target)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[3], Path(sys.argv[2]))
    else:
        main()
