"""Ctrl-C while the program starts: what comes of it, by the millisecond after the process was made.

    python benchmarks/starting.py [--times 20] [--until 60] [--step 2] [-- WORDS of chainrule]

Prints a Markdown table. Before Python has its own handler the process ends without a word; then come Python's own start
and the script, in which a traceback is Python's; from the moment the program has its handler, a message.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

KINDS = ("ended without a word", "traceback", "message", "finished")


def outcome(words: list[str], seconds: float) -> str:
    """What a Ctrl-C after some seconds gives."""
    began = time.perf_counter()
    process = subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )
    time.sleep(max(0.0, seconds - (time.perf_counter() - began)))
    process.send_signal(signal.SIGINT)
    told = process.communicate(timeout=60)[1]
    if "Traceback" in told or "KeyboardInterrupt" in told:
        return "traceback"
    if "stopped" in told:
        return "message"
    return "finished" if process.returncode == 0 else "ended without a word"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--until", type=int, default=60)
    parser.add_argument("--step", type=int, default=2)
    parser.add_argument("words", nargs="*", default=["models"])
    given = parser.parse_args()
    program = shutil.which("chainrule")
    command = [program] if program else [sys.executable, "-m", "chainrule.cli"]
    print("| ms | " + " | ".join(KINDS) + " |\n|---:|" + "---:|" * len(KINDS))
    for after in range(0, given.until + 1, given.step):
        found = Counter(outcome([*command, *given.words], after / 1000) for _ in range(given.times))
        print(f"| {after} | " + " | ".join(str(found[kind]) for kind in KINDS) + " |", flush=True)


if __name__ == "__main__":
    main()
