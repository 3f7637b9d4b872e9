"""Sources that are no sentence, on the command line: images, and labels several at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import chainrule as cr
from chainrule.cli import main
from chainrule.data.examples.drawing import png

SMALL = {"model": "transformer", "layers": 1, "width": 16, "heads": 2, "codec": "words", "steps": 2}
SHADES = ("dark", "light")


@pytest.fixture(scope="module")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with images, a table that names them, and a model of them."""
    place = tmp_path_factory.mktemp("captions")
    rows = ["image\tcaption"]
    for at in range(30):
        colour = (200 * (at % 2) + at,) * 3
        (place / f"{at}.png").write_bytes(png([[colour] * 8] * 8))
        rows.append(f"{at}.png\ta {SHADES[at % 2]} thing")
    (place / "table.tsv").write_text("\n".join(rows) + "\n")
    cr.fit(place / "table.tsv", source="image", target="caption", **SMALL).save(place / "model")
    return place


def test_candidates_are_ranked_by_an_image(captions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts, image = ["a dark thing", "a light thing"], str(captions / "1.png")
    assert main(["rank", str(captions / "model"), *texts, "--source", image, "--json"]) == 0
    ranked = json.loads(capsys.readouterr().out)["ranked"]
    logs = cr.load(captions / "model").log_probability(texts, [image] * 2)
    assert {one["text"]: one["lm"] for one in ranked} == {
        text: pytest.approx(log / 0.693147, abs=1e-3) for text, log in zip(texts, logs, strict=True)
    }


def test_images_of_candidates_lie_beside_their_table(
    captions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["rank", str(captions / "model"), "--file", str(captions / "table.tsv"), "--source", "image"]
    assert main([*words, "--column", "caption", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["ranked"]) == 30


def test_a_label_that_is_unknown_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{who}\t{what}\t{who} on {what}" for who in ("anna", "boris") for what in ("sea", "war")] * 10
    (tmp_path / "styles.tsv").write_text("\n".join(["author\ttopic\ttext", *rows]) + "\n")
    cr.fit(tmp_path / "styles.tsv", source="author,topic", target="text", **SMALL).save(tmp_path / "model")
    assert main(["translate", str(tmp_path / "model"), "zoe\tsea", "--length", "3"]) == 0
    told = capsys.readouterr().err
    assert "'zoe' is unknown" in told and "'sea'" not in told
    assert main(["translate", str(tmp_path / "model"), "anna", "--length", "3"]) == 2
    assert "reads 2 sources: author, topic" in capsys.readouterr().err
