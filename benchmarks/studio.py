"""How long a person waits for the studio: a small folder beside one with 200 models and 10 MB of text. Prints a table.

    python benchmarks/studio.py

Medians of a few visits in a fresh browser context; the first one after the start of the studio is told by itself.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import chainrule as cr

MODELS, LINES, VISITS = 200, 200_000, 5
LINE = "what is the weather in the town near the sea today"
WAITS = {
    "data": "main[data-page=data] .file",
    "models": "main[data-page=models] .model",
    "use": "main[data-page=use] textarea",
}


def furnished(folder: Path, models: int, lines: int) -> Path:
    """Copies of one model, and a text."""
    folder.mkdir()
    (folder / "book.txt").write_text("".join(f"{LINE} {at}\n" for at in range(lines)), encoding="utf-8")
    cr.fit([LINE, "it is late"] * 50, order=3).save(folder / "model-0")
    for at in range(1, models):
        shutil.copytree(folder / "model-0", folder / f"model-{at}")
    return folder


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    """Its address."""
    words = [sys.executable, "-m", "chainrule", "studio", str(folder), "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def visited(browser: Any, address: str, page: str) -> tuple[float, float]:
    """Milliseconds until the page is ready, and until what it is about stands there."""
    context = browser.new_context()
    seen = context.new_page()
    began = time.perf_counter()
    seen.goto(f"{address}#/{page}")
    seen.wait_for_selector(WAITS[page])
    filled = 1000 * (time.perf_counter() - began)
    ready = seen.evaluate("performance.getEntriesByName('ready')[0].startTime")
    context.close()
    return float(ready), filled


def waited(browser: Any, address: str) -> None:
    """A row for every page: the first visit, the median of the others, until it is filled."""
    for page in WAITS:
        (first, _), *others = [visited(browser, address, page) for _ in range(VISITS + 1)]
        ready, filled = (statistics.median(column) for column in zip(*others, strict=True))
        print(f"| {page} | {first:,.0f} ms | {ready:,.0f} ms | {filled:,.0f} ms |", flush=True)


def main() -> None:
    """Both folders, one after the other."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as started:
        browser = started.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for models, lines in ((3, 1_000), (MODELS, LINES)):
            folder = furnished(Path(place) / f"with-{models}", models, lines)
            size = (folder / "book.txt").stat().st_size
            began = time.perf_counter()
            with studio(folder) as address:
                told = f"{models} models, {size / 1e6:.1f} MB of text"
                print(f"\n{told}; {time.perf_counter() - began:.2f} s to the address\n")
                print("| page | first visit, ready | ready | filled |\n|---|---|---|---|")
                waited(browser, address)
        browser.close()


if __name__ == "__main__":
    main()
