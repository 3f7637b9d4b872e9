"""What docs/serve.md shows is asked of a server."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from .asking import server, tiny

PAGE = (Path(__file__).parents[2] / "docs" / "serve.md").read_text(encoding="utf-8")


def test_the_requests_of_the_page_are_answered() -> None:
    [block] = re.findall(r"<!-- curl -->\n```sh\n(.*?)```", PAGE, re.DOTALL)
    lines = [shlex.split(line) for line in block.splitlines()]
    with server({"my-lm": tiny("ngram")}) as http:
        for words in lines:
            path = next(word for word in words if word.startswith("localhost:8000")).removeprefix(
                "localhost:8000"
            )
            found = http.post(path, content=words[-1].encode()) if "-d" in words else http.get(path)
            assert found.status_code == 200, (words, found.text)
            assert "-d" not in words or json.loads(words[-1])
    assert len(lines) > 10


def test_every_path_is_on_the_page() -> None:
    from chainrule.serve.app import PATHS

    assert [
        path for path in PATHS if f"`{path}`" not in PAGE and path not in ("/openapi.json", "/docs")
    ] == []
