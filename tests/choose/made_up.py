"""Results of a comparison that never took place, with everything a page can show."""

from __future__ import annotations

import math
import random
from typing import Any

LADDER = {  # title, bits, seconds, parameters, write per second
    "mix": ("LSTM and 5-gram, mixed", 1.784, 171.3, 9_800_000, 820.0),
    "lstm": ("LSTM, 1 layer of 512", 1.812, 168.0, 1_340_000, 900.0),
    "gpt": ("GPT, 4 layers of 256", 1.829, 181.5, 3_310_000, 310.0),
    "gru": ("GRU, 1 layer of 512", 1.831, 150.2, 1_010_000, 960.0),
    "5-gram": ("5-gram, modified Kneser-Ney", 2.046, 1.9, 8_460_000, 21_000.0),
    "rnn": ("RNN, 1 layer of 512", 2.061, 88.0, 600_000, 1_500.0),
    "window": ("Window of 8 symbols", 2.118, 74.0, 420_000, 2_600.0),
    "3-gram": ("3-gram, modified Kneser-Ney", 2.402, 0.8, 310_000, 33_000.0),
    "unigram": ("Unigram", 4.451, 0.05, 70, 60_000.0),
}
TEXT = (
    "It was late in the afternoon when she reached the station, and the train for the north had left ten minutes"
    " before.\nShe sat down on the bench under the clock, opened the letter a second time, and read it slowly,"
    " as one reads a map of a country one does not intend to visit. “Nothing is decided,” it said;"
    " “come when you can.”\tThe porter looked at her shoes, and then at the sky. Rain again, he thought,"
    " and went to fetch the lamps; nobody had asked him anything since the spring, and he had got used to it."
)


def _model(at: int, name: str) -> dict[str, Any]:
    title, bits, seconds, parameters, speed = LADDER[name]
    behind = round(bits - 1.784, 3)
    steps = [seconds * step / 10 for step in range(1, 11)] if seconds > 10 else []
    return {
        "name": name,
        "title": title,
        "family": name,
        "settings": {"width": 512, "layers": 1, "dropout": 0.1} if seconds > 10 else {"order": 5},
        "notes": ["stopped early: validation had not improved for 3 rounds"] if name == "gru" else [],
        "failed": None,
        "bits": bits,
        "low": bits - 0.021,
        "high": bits + 0.024,
        "behind": {"bits": behind, "low": behind - 0.031, "high": behind + 0.033, "real": behind > 0.031}
        if at
        else None,
        "perplexity": 2 ** (bits * 1.17),
        "parameters": parameters,
        "file_bytes": 4 * parameters,
        "seconds": seconds,
        "memory_bytes": 4e8 + 20 * parameters,
        "score_per_second": 60 * speed,
        "write_per_second": speed,
        "progress": [[one, bits + 2.2 * math.exp(-4 * one / seconds)] for one in steps],
        "samples": [
            "the letter was again in the rain, and she had left the station",
            "he thought of nothing\nbut the sky",
        ],
        "forecast": {"seconds": seconds * 0.9, "memory_bytes": 4.4e8 + 18 * parameters},
        "values": None,
        "unfinished": "no better than a unigram (3.1 against 3.0 nats per symbol)"
        if name == "window"
        else None,
        "dropped": _turns(name)[-1]["why"] if name in ("rnn", "window", "gru") else None,
    }


def _turns(name: str) -> list[dict[str, Any]]:
    """What a model that learns did in two rounds, the last of which the winner had alone."""
    at = ["window", "rnn", "gru", "lstm"].index(name)
    figure = LADDER[name][1] + 0.3
    why = f"dropped after 20 s at {figure:.3f} bits per byte: lstm had 2.112 after 20 s, and only the best continues"
    first = {
        "round": 1,
        "name": name,
        "given": 30.0,
        "began": 5 + 30.0 * at,
        "seconds": 29.0,
        "figure": figure,
    }
    if name != "lstm":
        return [first | {"decision": "dropped", "why": why}]
    last = {"round": 2, "name": name, "given": 400.0, "began": 125.0, "seconds": 396.0, "figure": 1.809}
    continues = {"decision": "continues", "why": "continues after 20 s at 2.112 bits per byte: place 1 of 4"}
    return [
        first | continues,
        last | {"decision": "won", "why": "wins with 1.809 bits per byte after 6:56 min"},
    ]


def _curve(name: str, floor: float, scale: float, power: float) -> dict[str, Any]:
    points = [[1000 * 2**step, floor + scale * (1000 * 2**step) ** -power] for step in range(2, 9)]
    sizes = [2000 * 1.5**step for step in range(16)]
    middles = [floor + scale * one**-power for one in sizes]
    spread = [0.02 + 0.012 * max(0, step - 11) for step in range(16)]
    return {
        "name": name,
        "points": [[size, bits + 0.01 * (-1) ** at] for at, (size, bits) in enumerate(points)],
        "fit": {"floor": floor, "scale": scale, "power": power},
        "band": [
            [size, middle - far, middle, middle + far]
            for size, middle, far in zip(sizes, middles, spread, strict=True)
        ],
    }


def rich() -> dict[str, Any]:
    """Nine models that finished and one that failed."""
    draw = random.Random(1)
    symbols = list(TEXT)
    failed = {
        "name": "bert",
        "title": "BERT",
        "failed": "It needs 9.1 GB of memory; 4 GB are free.",
        "notes": [],
    }
    return {
        "data": {
            "name": "book.txt",
            "codec": "characters",
            "vocab_size": 70,
            "how": "90 % / 5 % / 5 % by hash of the line",
            "parts": {
                "train": {"sequences": 9120, "symbols": 512_340, "bytes": 530_200},
                "valid": {"sequences": 507, "symbols": 28_400, "bytes": 29_380},
                "test": {"sequences": 511, "symbols": 28_912, "bytes": 29_907},
            },
            "warnings": [
                "12 lines of the test part are also in the training part; figures may be a little too good."
            ],
        },
        "unit": "bits per byte",
        "budget": 600.0,
        "seconds": 588.2,
        "models": [*(_model(at, name) for at, name in enumerate(LADDER)), failed],
        "rounds": [turn for name in ("window", "rnn", "gru", "lstm") for turn in _turns(name)],
        "yardsticks": {"bits": {"xz": 2.51, "bzip2": 2.34, "zstd": 2.49}, "whole": True},
        "notes": ["Compressors need, for the held-out part after the training part: xz 2.510 bits per byte."],
        "curves": [_curve("lstm", 1.2, 60.0, 0.35), _curve("5-gram", 1.75, 13.0, 0.26)],
        "crossings": [
            {"first": "lstm", "second": "5-gram", "symbols": 57_000, "low": 44_000, "high": 74_000}
        ],
        "surprise": {
            "symbols": symbols,
            "bits": {
                name: [
                    round(draw.expovariate(1 / LADDER[name][1]) * (0.4 if one.isalpha() else 1.8), 4)
                    for one in symbols
                ]
                for name in LADDER
            },
        },
        "advice": {
            "best": "mix",
            "simplest": "gru",
            "fastest": "5-gram",
            "sentences": [
                "Take the mix of LSTM and 5-gram: it needs the fewest bits per byte.",
                "If it has to be one model, the LSTM is as good, as far as these data tell, and seven times smaller.",
                "With a fifth of the data the 5-gram would have been better; more data will help the LSTM.",
            ],
        },
        "reproduce": {
            "command": "chainrule compare book.txt --budget 10m -o OUT",
            "seed": 1,
            "versions": {"chainrule": "0.1.0", "torch": "2.13.0", "numpy": "2.4.6"},
            "machine": "2 cores, 16 GB",
        },
    }
