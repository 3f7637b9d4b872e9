"""A process that holds models and answers questions about them: lines of JSON in, lines of JSON out.

    python -m chainrule.studio.worker FOLDER

`{"id": 1, "do": "score", "model": "my-lm", "text": "…"}` is answered by `{"id": 1, "result": …}` or `{"id": 1, "error":
"…"}`, after any number of `{"id": 1, "piece": …}`. `{"cancel": 1}` ends the pieces of a question. What anything else
prints goes to the log.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TextIO

from chainrule.config import to_json
from chainrule.errors import ChainruleError
from chainrule.progress import quiet
from chainrule.studio.answers import ANSWERS
from chainrule.studio.folder import Folder
from chainrule.studio.shelf import Shelf


class Worker:
    """Questions are read in a thread, so that one can be cancelled while it is answered."""

    def __init__(self, folder: Path, questions: TextIO, out: TextIO) -> None:
        self.shelf, self.questions, self.out = Shelf(Folder.of(folder)), questions, out
        self.waiting: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.cancelled: set[int] = set()

    def run(self) -> None:
        """Until standard input is closed."""
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            asked = self.waiting.get()
            for told in self._answered(asked):
                self._tell(asked["id"], told)
                if "piece" in told and asked["id"] in self.cancelled:
                    self._tell(asked["id"], {"error": "stopped"})
                    break

    def _tell(self, id: int, told: Mapping[str, Any]) -> None:
        self.out.write(to_json({"id": id, **told}) + "\n")
        self.out.flush()

    def _listen(self) -> None:
        for line in self.questions:
            asked = json.loads(line)
            if "cancel" in asked:
                self.cancelled.add(asked["cancel"])
            else:
                self.waiting.put(asked)
        os._exit(0)  # whoever asked has gone, also if something is still computed for them

    def _answered(self, asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        try:
            yield from ANSWERS[asked["do"]](self.shelf, asked)
        except ChainruleError as error:
            yield {"error": str(error)}
        except MemoryError:
            yield {"error": "There is not enough memory for this. Take a smaller model or a shorter text."}
        except Exception as error:
            first = str(error).strip().partition("\n")[0]
            yield {"error": f"unexpected {type(error).__name__}: {first}"}


def main(folder: str) -> None:
    """Keep the pipe for answers only."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with quiet():
        Worker(Path(folder), sys.stdin, out).run()


if __name__ == "__main__":
    main(sys.argv[1])
