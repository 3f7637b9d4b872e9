"""Write docs/lectures.ipynb from docs/lectures.md: the same text, code and output. Run it with `make lectures`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE, NOTEBOOK = (Path(__file__).with_name(f"lectures.{ending}") for ending in ("md", "ipynb"))
CODE = re.compile(r"<!-- notebook -->\n```python\n(.*?)```\n\n```text\n(.*?)```\n", re.DOTALL)


def code(page: str) -> list[tuple[str, str]]:
    """Every piece of Python and what it prints."""
    return CODE.findall(page)


def notebook(page: str) -> str:
    """The page as a notebook: Python in cells with its output, everything else as text."""
    values = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "python"}}}
    return (
        json.dumps({"cells": list(_cells(page)), **values}, indent=1, ensure_ascii=False, sort_keys=True)
        + "\n"
    )


def _cells(page: str) -> Iterator[dict[str, Any]]:
    pieces = CODE.split(page)  # text, code, output, text, …
    for at in range(0, len(pieces), 3):
        text = pieces[at].replace("<!-- run -->\n", "").strip()
        yield {"cell_type": "markdown", "id": f"text-{at}", "metadata": {}, "source": text}
        if at + 2 < len(pieces):
            told = {"output_type": "stream", "name": "stdout", "text": pieces[at + 2]}
            yield {
                "cell_type": "code",
                "id": f"code-{at}",
                "metadata": {},
                "execution_count": None,
                "source": pieces[at + 1].rstrip("\n").splitlines(keepends=True),
                "outputs": [told],
            }


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
