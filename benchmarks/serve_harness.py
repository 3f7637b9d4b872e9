"""Whether an evaluation harness that asks a server finds what `chainrule score` finds.

    LM_EVAL=/where/it/is/bin/lm_eval python benchmarks/serve_harness.py MODEL TEXT

lm_eval needs some seventy packages: give it an environment of its own.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from serve import serving


def harness(model: Path, text: Path) -> None:
    """Perplexity of lines and choices among their endings."""
    from chainrule.bundle import load as opened

    lm, lines = (
        opened(model),
        [one.strip() for one in text.read_text().splitlines() if len(one.split()) > 4][:100],
    )
    folder = Path(tempfile.mkdtemp())
    rows = [choice_of(lines, at) for at in range(len(lines))]
    (folder / "data.jsonl").write_text("\n".join(json.dumps(one) for one in rows))
    shared = f"dataset_path: json\ndataset_kwargs:\n  data_files: {folder}/data.jsonl\ntest_split: train\n"
    (folder / "ppl.yaml").write_text(
        f"task: ppl\n{shared}output_type: loglikelihood_rolling\ndoc_to_text: ''\ndoc_to_target: '{{{{text}}}}'\n"
        "metric_list:\n  - metric: word_perplexity\n"
    )
    (folder / "ends.yaml").write_text(
        f"task: ends\n{shared}output_type: multiple_choice\ndoc_to_text: '{{{{start}}}}'\n"
        "doc_to_choice: '{{choices}}'\ndoc_to_target: answer\nmetric_list:\n  - metric: acc\n"
    )
    with serving(model) as (client, _):
        base = f"base_url={client.base_url}/v1/completions,model={model.name},num_concurrent=4"
        words = [
            os.environ["LM_EVAL"],
            "--model",
            "local-completions",
            "--model_args",
            base,
            "--tasks",
            "ppl,ends",
        ]
        options = ["--include_path", str(folder), "--output_path", str(folder / "out")]
        subprocess.run([*words, *options], check=True)
    result = json.loads(next((folder / "out").rglob("results*.json")).read_text())["results"]
    own = [lm.score(one["text"]) for one in rows]
    logs = sum(sum(token.log2prob for token in one.tokens[:-1]) for one in own) * math.log(2)
    words_in = sum(len(one["text"].split()) for one in rows)
    print(
        "perplexity a word:", result["ppl"]["word_perplexity,none"], "by score:", math.exp(-logs / words_in)
    )
    right = sum(direct(lm, one) == one["answer"] for one in rows) / len(rows)
    print("accuracy:", result["ends"]["acc,none"], "directly:", right)


def choice_of(lines: list[str], at: int) -> dict[str, Any]:
    """A line, and its ending among those of three others."""
    chance = random.Random(at)
    ends = [" ".join(lines[(at + step) % len(lines)].split()[-2:]) for step in (0, 7, 13, 29)]
    order = chance.sample(range(4), 4)
    start = " ".join(lines[at].split()[:-2])
    return {
        "text": lines[at],
        "start": start,
        "choices": [ends[one] for one in order],
        "answer": order.index(0),
    }


def direct(lm: Any, row: dict[str, Any]) -> int:
    """The most probable ending, by scores of whole texts."""
    before = len(lm.prompt_ids(row["start"])) - 1
    scores = [
        sum(one.log2prob for one in lm.score(f"{row['start']} {end}").tokens[before:-1])
        for end in row["choices"]
    ]
    return scores.index(max(scores))


if __name__ == "__main__":
    harness(*map(Path, sys.argv[1:]))
