"""The studio in a real browser, job by job: what the page shows is what Python says, and it asks nobody else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import chainrule as cr
from chainrule.bundle import load
from chainrule.studio.folder import Folder
from chainrule.studio.follow import Follower
from chainrule.studio.jobs import Jobs
from chainrule.train.checkpoint import load as load_checkpoint
from studio.running import HOSTILE, Running, until

PAGES = ("data", "train", "models", "use", "look")
SLOW = 240_000  # milliseconds that a very busy machine may take


class Visit:
    """A page, everything it asked for and every complaint."""

    def __init__(self, browser: Any, running: Running, where: str, width: int = 1280, **how: Any) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.running = running
        self.page = browser.new_page(viewport={"width": width, "height": 900}, accept_downloads=True, **how)
        self.page.set_default_timeout(SLOW)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.go(where)

    def go(self, where: str) -> None:
        self.page.goto(f"{self.running.address}#/{where}")
        self.page.wait_for_selector("body[data-ready]")

    def texts(self, selector: str) -> list[str]:
        self.page.wait_for_selector(selector)
        return [str(one) for one in self.page.locator(selector).all_inner_texts()]

    def fact(self, name: str) -> str:
        """One of the large figures."""
        found = self.page.locator(".facts > div", has=self.page.get_by_text(name, exact=True))
        return str(found.first.locator("dd").inner_text())

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).first.click()


@contextmanager
def visit(browser: Any, running: Running, where: str, **how: Any) -> Iterator[Visit]:
    found = Visit(browser, running, where, **how)
    yield found
    outside = [one for one in found.requests if not one.startswith((running.address, "data:", "blob:"))]
    assert (outside, found.complaints) == ([], [])
    assert found.page.title().endswith("chainrule studio")  # no text has become a script
    found.page.close()


def as_number(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-").removesuffix(" %"))


def test_a_file_is_taken_and_read_as_check_reads_it(browser: Any, running: Running, tmp_path: Path) -> None:
    (tmp_path / "a new one.txt").write_text("what is the weather\nit is late\n" * 60)
    with visit(browser, running, "data") as seen:
        seen.page.set_input_files("#upload", tmp_path / "a new one.txt")
        seen.page.wait_for_selector(".facts")
        facts = cr.check(tmp_path / "a new one.txt").to_dict()
        assert seen.fact("codec") == facts["codec"]
        assert as_number(seen.fact("vocabulary")) == facts["vocab_size"]
        assert as_number(seen.fact("symbols to train on")) == facts["parts"]["train"]["symbols"]
        shown = [[as_number(cell) for cell in row[1:3]] for row in seen_rows(seen, ".detail table")][:3]
        assert shown == [[one["sequences"], one["symbols"]] for one in facts["parts"].values()]
        assert seen.texts(".command code")[-1] == "chainrule check 'a new one.txt'"


def seen_rows(seen: Visit, table: str) -> list[list[str]]:
    rows = seen.page.locator(table).first.locator("tbody tr")
    return [[str(cell) for cell in row.locator("td").all_inner_texts()] for row in rows.all()]


def test_what_a_file_says_stays_text(browser: Any, running: Running) -> None:
    with visit(browser, running, "data?file=hostile.txt") as seen:
        seen.page.wait_for_selector(".facts")
        assert HOSTILE in seen.texts(".beginning")[0]


def test_a_model_is_trained_from_the_form_and_used(browser: Any, running: Running) -> None:
    with visit(browser, running, "train?data=book.txt") as seen:
        seen.page.get_by_label("Family").select_option("ngram")
        seen.page.get_by_label("Name", exact=True).fill("fresh")
        seen.page.get_by_text("All settings").click()
        seen.page.get_by_label("order", exact=True).fill("2")
        seen.page.wait_for_function(
            "() => document.querySelector('.command code')?.textContent.includes('--order 2')"
        )
        assert seen.texts(".command code")[0] == "chainrule fit book.txt --model ngram --order 2 -o fresh"
        seen.press("Start training")
        seen.page.wait_for_selector(".job[data-state=done]")
        figures = load(running.folder / "fresh").card["figures"]["test"]
        assert as_number(seen.fact("perplexity")) == pytest.approx(figures["perplexity"], rel=1e-3)
        assert as_number(seen.fact("bits per byte")) == pytest.approx(figures["bits_per_byte"], rel=1e-3)
        seen.press("Samples")
        assert len(seen.texts(".sample")) == 3
        seen.page.get_by_role("link", name="Use it").first.click()
        assert "fresh" in str(seen.page.get_by_label("Model").input_value())


def test_a_training_outlives_page_and_studio_stops_and_continues(browser: Any, running: Running) -> None:
    words = {"width": 8, "seq_len": 8, "batch_size": 2}
    form = {
        "make": "training",
        "data": "book.txt",
        "model": "rnn",
        "budget": "1h",
        "name": "long",
        "settings": words,
    }
    id = running.ask("POST", "/api/jobs", form)[2]["id"]
    card = f".job[data-job='{id}']"
    with visit(browser, running, "train") as seen:
        seen.page.wait_for_selector(f"{card} polyline.train")
        assert "training" in seen.texts(f"{card} .progress p")[0]
        assert seen.texts("#running") == ["1"]
    another = Jobs(Folder.of(running.folder))  # as after a new start of the studio
    assert another.lives(another.find(id)) and Follower(another).all()[0]["curve"]
    with visit(browser, running, "train") as seen:
        seen.page.wait_for_selector(f"{card}[data-state=running] polyline.train")
        seen.press("Stop")
        seen.page.wait_for_selector(f"{card}[data-state=stopped]")
        assert "continue with --resume" in seen.page.locator(card).inner_text()
        assert (running.folder / "long.run" / "checkpoint.safetensors").exists()
        steps = trained(running.folder / "long.run")
        seen.press("Continue")
        seen.page.wait_for_selector(f"{card}[data-state=running] .progress p:has-text('training')")
        seen.press("Stop")
        seen.page.wait_for_selector(f"{card}[data-state=stopped]")
        assert trained(running.folder / "long.run") > steps
        seen.press("Forget")
        seen.page.wait_for_selector(card, state="detached")


def trained(run: Path) -> int:
    """The step of a checkpoint."""
    checkpoint = load_checkpoint(run)
    assert checkpoint is not None
    return int(checkpoint.facts["step"])


def test_models_are_found_opened_compared_renamed_deleted_and_put_back(
    browser: Any, running: Running
) -> None:
    with visit(browser, running, "models") as seen:
        seen.page.wait_for_selector("[data-model=my-gpt]")
        seen.page.get_by_label("Find a model").fill("lstm")
        assert seen.texts(".model h3") == ["my-lstm"]
        seen.page.locator(".model .name").click()
        seen.page.wait_for_selector("[data-opened=my-lstm]")
        seen.press("Layers")
        parameters = load(running.folder / "my-lstm").parameters
        seen.page.wait_for_selector(f"text={parameters:,} parameters")
        seen.page.get_by_label("Find a model").fill("lm")
        for name in ("my-lm", "small-lm"):
            seen.page.get_by_label(f"Choose {name} to compare").check()
        seen.press("Compare 2 models")
        assert ["family", "ngram", "ngram"] in seen_rows(seen, "table")
        seen.press("Close")
        seen.page.locator("[data-model=small-lm]").get_by_role("button", name="Rename").click()
        seen.page.locator("dialog input").fill("tiny-lm")
        seen.page.locator("dialog .primary").click()
        seen.page.wait_for_selector("[data-model=tiny-lm]")
        seen.page.locator("[data-model=tiny-lm]").get_by_role("button", name="Delete").click()
        seen.page.locator("dialog .danger").click()
        seen.page.wait_for_selector("[data-model=tiny-lm]", state="detached")
        assert not (running.folder / "tiny-lm").exists()
        seen.page.reload()  # what is in the bin can be put back later, too
        seen.page.get_by_text("In the bin: 1").click()
        seen.press("Put it back")
        seen.page.wait_for_selector("[data-model=tiny-lm]")
        seen.page.wait_for_selector("#bin", state="detached")
        assert load(running.folder / "tiny-lm").body.family == "ngram"


def test_scores_completions_and_texts_are_those_of_python(browser: Any, running: Running) -> None:
    model, text = load(running.folder / "my-lm"), "what is the weather"
    with visit(browser, running, "use?model=my-lm&verb=score") as seen:
        seen.page.get_by_label("Text", exact=True).fill(text)
        seen.page.keyboard.press("Control+Enter")
        seen.page.wait_for_selector(".output .facts")
        score = model.score(text)
        assert as_number(seen.fact("perplexity")) == pytest.approx(score.perplexity, rel=1e-3)
        assert seen.texts(".output .symbol") == [one.token for one in score.tokens]
        seen.page.locator(".output .symbol").nth(1).focus()
        told = seen.texts(".output .readout")[0].split()
        assert (told[0], as_number(told[1])) == ("is:", pytest.approx(score.tokens[1].bits, rel=1e-3))
        seen.page.get_by_role("radio", name="Generate").check()
        seen.page.get_by_label("Seed").fill("3")
        seen.page.get_by_label("Length").fill("6")
        seen.press("Generate")
        seen.page.wait_for_selector(".output .command")
        expected = model.generate(text, length=6, seed=3)
        assert "".join(seen.texts(".output .text")) == expected
        assert "--seed 3" in seen.texts(".output .command code")[0]
        seen.page.get_by_role("radio", name="Next").check()
        seen.press("Next")
        values = [as_number(one) for one in seen.texts(".output .bars .value")]
        assert values == pytest.approx([100 * one.probability for one in model.next(text)], abs=0.006)


def test_views_have_pythons_numbers_are_linked_and_saved(
    browser: Any, running: Running, tmp_path: Path
) -> None:
    text = "what is the time"
    with visit(browser, running, "look?model=my-gpt&view=surprise") as seen:
        seen.page.get_by_label("Text", exact=True).fill(text)
        for name in ("surprise", "attention", "layers"):
            seen.page.get_by_label("View").select_option(name)
            seen.press("Draw")
            seen.page.wait_for_selector(f"[data-drawn={name}]")
        view = cr.look(load(running.folder / "my-gpt"), text, view="surprise")
        seen.page.locator("[data-drawn=surprise] .symbol").nth(1).hover()
        told = seen.texts("[data-drawn=surprise] .readout")[0]
        assert f"{view['bits'][0, 1]:.2f} bits" in told
        for name in ("attention", "layers"):  # these have <s> before the text
            assert set(seen.texts(f"[data-drawn={name}] .symbol.linked")) == {"is"}
        seen.page.locator("[data-drawn=attention] .symbol").nth(2).hover()
        assert seen.page.locator("[data-drawn=attention] .symbol.linked").count() > 0
        command = seen.texts("[data-drawn=surprise] .command code")[0]
        assert command == f"chainrule look my-gpt '{text}' --view surprise -o surprise.html"
        with seen.page.expect_download() as download:
            seen.page.locator("[data-view=surprise]").get_by_role("button", name="HTML").click()
        download.value.save_as(tmp_path / "saved.html")
        assert (
            command.replace("'", "\\u0027") in (tmp_path / "saved.html").read_text()
            or command in (tmp_path / "saved.html").read_text()
        )


def test_a_symbol_of_the_distribution_is_continued_from(browser: Any, running: Running) -> None:
    with visit(browser, running, "look?model=my-lm&view=next&text=what+is+the") as seen:
        seen.press("Draw")
        seen.page.wait_for_selector("[data-drawn=next]")
        likely = load(running.folder / "my-lm").next("what is the").symbols[0].token
        seen.page.locator("[data-drawn=next] .row .name").first.click()
        seen.page.wait_for_function("() => document.querySelectorAll('[data-drawn=next]').length === 2")
        assert seen.page.get_by_label("Text", exact=True).input_value() == f"what is the {likely}"


def test_an_error_of_a_view_is_a_sentence(browser: Any, running: Running) -> None:
    with visit(browser, running, "look?model=my-gpt&view=attention") as seen:
        seen.page.get_by_label("Text", exact=True).fill("the time " * 200)
        seen.press("Draw")
        seen.page.wait_for_selector(".figure .alarm, [data-drawn]")
        assert re.search(r"\w+ .*\.", seen.texts(".figure .alarm")[0])
        seen.complaints.clear()  # the browser itself writes down that a request was answered by 400


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "dark")])
def test_every_page_fits_and_is_reached_by_keys(
    browser: Any, running: Running, width: int, scheme: str
) -> None:
    with visit(browser, running, "data", width=width, color_scheme=scheme) as seen:
        for at, name in enumerate(PAGES, 1):
            seen.page.keyboard.press(str(at))
            seen.page.wait_for_selector(f"main[data-page={name}] h1")
            until(lambda: seen.page.locator("main .waiting").count() == 0)
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
            seen.page.locator("h1").click()
