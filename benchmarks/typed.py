"""Words nobody would type: sensible commands of every verb with some of their words changed, in the process itself."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from socketserver import BaseServer

import typer
from faults import Section

from chainrule.cli import main
from chainrule.cli.app import app
from chainrule.interop.word2vec import FORMATS as VECTORS

OUT = "OUT"  # what is written, in the folder of a case
LONG = ("compare", "demo", "serve", "studio")  # too long, or for as long as somebody is served
WORDS = (
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
)
WORDS += (
    "--id",
    "--column",
    "--where",
    "--verify",
    "--tokens",
    "--bits",
    "--help",
    "--unknown",
    "--stop",
    "--each",
)
WORDS += (
    "--source",
    "--target",
    "--label",
    "--pair",
    "--format",
    "--group",
    "--sort",
    "--steps",
    "--top",
    "-",
    "--",
)
WORDS += (
    "--file",
    "--data",
    "--against",
    "--hypotheses",
    "--references",
    "--among",
    "--method",
    "--force",
    "-o",
    OUT,
)
TYPED = (
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
)

COMMANDS: dict[str, tuple[str, ...]] = {
    "fit": (
        "data/text.txt --model ngram --order 2 -o OUT",
        "data/table.csv --column text --label label --model bag -o OUT",
        "data/text.txt --model gru --width 4 --tokens 50 -o OUT",
    ),
    "score": (
        "models/ngram she",
        "models/gru --file data/text.txt --each",
        "models/elmo she",
        "models/mix she",
    ),
    "generate": (
        "models/gru she --length 3",
        "models/ngram --count 2 --beam 2 --length 4",
        "models/gpt she --length 3",
    ),
    "complete": ("models/ngram she -k 2", "models/lstm she"),
    "next": ("models/gru she -k 3", "models/ngram she"),
    "fill": ("models/bert she -k 2", "models/hf-bert she"),
    "embed": ("models/gru she", "models/vectors she", "models/elmo she", "models/gpt --file data/text.txt"),
    "similar": ("models/vectors she -k 3", "models/spelt zebra --among models/vectors", "models/lstm she"),
    "analogy": ("models/vectors she was he -k 2", "models/spelt a b c"),
    "map-vectors": ("models/vectors models/vectors data/words.tsv -o OUT --method linear",),
    "predict": (
        *(
            "models/class-ngram she",
            "models/tag-gru she",
            "models/multi-label-bag she",
            "models/class-lstm she",
        ),
        *("models/span-window --file data/squad.json", "models/regress-bag she", "models/frames-gru 1,2;3,4"),
        *("models/classify-gpt --file data/table.csv --id n --top 1", "models/pair-features she he"),
        *("formats/moments --file data/moments.csv", "formats/CoNLL-U --file data/trees.conllu"),
    ),
    "evaluate": (
        *(
            "models/class-ngram data/table.csv --column text --label label",
            "models/span-window data/squad.json",
        ),
        *(
            "--hypotheses data/text.txt --references data/text.txt",
            "formats/moments data/moments.csv --label motion",
        ),
        *(
            "models/bag data/table.csv --label label --against models/majority",
            "formats/CoNLL-U data/trees.conllu",
        ),
        "models/transformer --source data/words.tsv --target data/words.tsv --beam 1",
        "--hypotheses data/text.txt --references data/text.txt --wordnet wordnet --meteor-alpha 0.5",
    ),
    "translate": (
        "models/transformer she",
        "models/transformer --file data/words.tsv --beam 2 --count 2",
        "formats/images --file formats/data/images/a.tsv",
        "formats/recordings formats/data/recordings/s/1.wav",
        "models/ibm1 she",
        "models/seq2seq she --length-penalty 0.5",
    ),
    "look": (
        *("models/gpt she --view attention", "models/ngram she", "models/lstm she --view cells -o OUT.svg"),
        *("models/vectors she,was --view vectors -o OUT.png", "models/classify-gru she --view saliency"),
        *("models/gru --view training --run runs/lm.run -o OUT.json", "models/bert she --view masked"),
        *("models/cnn --view filters --corpus data/text.txt", "models/rnn she --view gradient -o OUT.html"),
    ),
    "rate": (
        "data/text.txt data/wide.txt -o OUT --port 0",
        "data/text.txt data/words.tsv -o OUT",
        "--report data/ratings.jsonl",
    ),
    "rank": ("models/ngram --file data/nbest.tsv --group id --column text --weight acoustic=0.1",),
    "forecast": (
        "models/numbers --data data/numbers.csv --steps 2 --paths 9",
        "models/numbers --steps 2 -o OUT.csv",
    ),
    "anomalies": ("models/numbers data/numbers.csv", "models/numbers data/numbers.csv --top 2"),
    "check": (
        "data/text.txt",
        "data/moments.csv --column x,y --group session",
        "data/table.csv --column text",
    ),
    "mix": ("models/ngram models/gru --valid data/text.txt -o OUT",),
    "models": ("", "--json"),
    "show": ("models/gru", "models/classify-bert --verify", "models/transformer --json", "models/tag-lstm"),
    "import arpa": ("foreign/small.arpa -o OUT",),
    "import hf": ("foreign/gpt -o OUT", "foreign/bert -o OUT", "foreign/marian -o OUT"),
    "import vectors": tuple(f"foreign/vectors.{one} -o OUT --format {one}" for one in VECTORS),
    "export arpa": ("models/ngram OUT.arpa", "models/ngram OUT.arpa.gz"),
    "export hf": ("foreign/own-gpt OUT", "foreign/own-bert OUT", "foreign/own-pegasus OUT"),
    "export vectors": tuple(f"models/vectors OUT.vec --format {one}" for one in VECTORS),
    "example": ("text -o OUT.txt", "sensors -o OUT.csv", "weeks -o OUT.jsonl"),
}


def verbs(of: typer.Typer = app, before: str = "") -> Iterator[str]:
    """The name of every command there is, those of groups with the name of the group."""
    yield from (f"{before}{one.name}" for one in of.registered_commands)
    for group in of.registered_groups:
        assert group.typer_instance is not None
        yield from verbs(group.typer_instance, f"{before}{group.name} ")


def commands(examples: Path, place: Path, random: Random) -> str | None:
    """A command with up to three words changed, left out or added."""
    verb = random.choice(sorted(COMMANDS))
    words = random.choice(COMMANDS[verb]).split()
    files = [
        str(one.relative_to(examples))
        for name in ("data", "models", "foreign")
        for one in (examples / name).iterdir()
    ]
    for _ in range(random.randrange(4)):
        other = random.choice([random.choice(WORDS), random.choice(TYPED), random.choice(sorted(files))])
        at, change = random.randint(0, len(words)), random.randrange(3)
        words[at : at + (change > 0)] = [] if change == 2 else [other]
    (place / "OUT.there").write_text("of the user\n")
    os.chdir(place)  # what is written has odd names
    given = [*verb.split(), *(_located(word, examples, place) for word in words)]
    code, told = executed(given)
    if code not in (0, 1, 2) or "chainrule: unexpected " in told or "Traceback" in told:
        raise RuntimeError(f"{given}: {code}: {told.strip()[-200:]}")
    if (place / "OUT.there").read_text() != "of the user\n":
        raise RuntimeError(f"{given}: a file of the user has changed")
    return "success" if code == 0 else "refused"


KINDS = ("data/", "models/", "foreign/", "formats/", "runs/", "wordnet", "views/")  # of examples


def _located(word: str, examples: Path, place: Path) -> str:
    if word.startswith(OUT):
        return str(place / word)
    return str(examples / word) if word.startswith(KINDS) else word


def _stopped(self: BaseServer, poll_interval: float = 0.5) -> None:
    """A server is told to stop as soon as it begins."""
    raise KeyboardInterrupt


def executed(words: list[str]) -> tuple[int, str]:
    """The exit code of a command, and what it complained of."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    BaseServer.serve_forever = _stopped  # type: ignore[method-assign]
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    return code, err.getvalue()


SECTIONS = [Section("command lines", 4000, 2.0, commands)]
