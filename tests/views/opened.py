"""Pages of views in a real browser, with every request they made and every complaint."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Visit:
    """An opened file."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, **how: Any) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, **how)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("[data-drawn]")
        self.asked = [one for one in self.requests if one not in (path.as_uri(), "data:,")]
