"""What docs/serve.md shows is asked of a server."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from .asking import server, tiny

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "serve.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_requests_of_readme_and_page_are_answered() -> None:
    blocks = re.findall(r"<!-- curl -->\n```sh\n(.*?)```", README + PAGE, re.DOTALL)
    lines = [shlex.split(line) for block in blocks for line in block.splitlines()]
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
