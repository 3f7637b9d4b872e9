"""Laws of the engine: what a request gets depends on nobody else, and nobody waits for long."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
import torch

from chainrule.decode.config import GenerationConfig
from chainrule.nn.product import steady
from chainrule.serve.engine import Engine
from chainrule.serve.prefix import PrefixCache
from chainrule.serve.reading import PIECE, Reading, read_together
from chainrule.serve.refusals import Cancelled, Refused
from chainrule.serve.text import Written
from chainrule.serve.work import Call, Read, Ticket, Writing
from chainrule.use.generate import generate
from chainrule.use.text import prompt_ids

from .asking import LINES, ask, prompts_of, ticket_of, tiny, working

TEXTS = [
    "she w",
    "he was late for class, and what is the weather today",
    "q",
    "",
    "9 dog",
]  # one beyond the context
GREEDY = GenerationConfig(temperature=0.0, length=24, seed=3)
DRAWN = GenerationConfig(temperature=0.9, top_k=12, top_p=0.95, length=20, seed=3)
FAMILIES = ["gpt", "lstm", "gru", "ngram"]


def told(events: list[Any], choice: int) -> list[Any]:
    """All that was said of one text, floats included."""
    read = [one.logs for one in events if isinstance(one, Read) and one.first == choice]
    return read + [
        replace(one, choice=0) for one in events if isinstance(one, Written) and one.choice == choice
    ]


@pytest.mark.parametrize("config", [GREEDY, DRAWN], ids=["greedy", "drawn"])
@pytest.mark.parametrize("name", FAMILIES)
def test_an_answer_is_the_same_to_the_bit_alone_and_among_others(name: str, config: GenerationConfig) -> None:
    async def both() -> None:
        with working(tiny(name), batch_size=8, prefix_cache=0) as engine:
            alone = [
                await ask(engine, [text], config.from_row(at), logprobs=2, echo=True)
                for at, text in enumerate(TEXTS)
            ]
            late = asyncio.gather(
                *(ask(engine, [one], DRAWN) for one in LINES * 2)
            )  # they come and go meanwhile
            among = await ask(engine, TEXTS, config, logprobs=2, echo=True)
            await late
        for at in range(len(TEXTS)):
            assert told(alone[at], 0) == told(among, at)

    asyncio.run(both())


@pytest.mark.parametrize("name", FAMILIES)
def test_it_writes_what_generate_writes(name: str) -> None:
    config = replace(DRAWN, count=2, stop=("a",))

    async def written() -> dict[int, str]:
        with working(tiny(name)) as engine:
            return {
                one.choice: one.text for one in await ask(engine, TEXTS, config) if isinstance(one, Written)
            }

    found = asyncio.run(written())
    expected = [one.continuation for each in generate(tiny(name), TEXTS, config) for one in each.texts]
    assert [found[at] for at in range(len(expected))] == expected


@pytest.mark.parametrize("name", ["gpt", "ngram"])
def test_a_streamed_text_is_the_same_in_pieces(name: str) -> None:
    async def both() -> tuple[str, list[str]]:
        with working(tiny(name)) as engine:
            [_, whole] = await ask(engine, ["she"], DRAWN)
            pieces = await ask(engine, ["she"], DRAWN, streams=True)
        return whole.text, [one.text for one in pieces if isinstance(one, Written)]

    whole, pieces = asyncio.run(both())
    assert "".join(pieces) == whole and len(pieces) > 1


def test_what_a_prompt_is_scored_with_is_what_score_says() -> None:
    text = "he was late for class and what is the weather today, she asked"  # longer than the context

    async def read() -> Any:
        with working(tiny("gpt")) as engine:
            return (await ask(engine, [text], replace(GREEDY, length=0), logprobs=0, echo=True))[0]

    logs = [one.log for one in asyncio.run(read()).logs]
    expected = [one.log2prob for one in tiny("gpt").score(text).tokens]
    assert [log / 0.6931471805599453 for log in logs] == pytest.approx(expected[:-1], abs=1e-5)


def test_a_cached_beginning_changes_no_bit_and_is_not_read_again() -> None:
    text = "what is the weather today " * 8

    async def thrice() -> None:
        with working(tiny("lstm")) as engine:
            first = await ask(engine, [text + "she"], GREEDY, logprobs=1)
            again = await ask(engine, [text + "she"], GREEDY, logprobs=1)
            other = await ask(engine, [text + "he w"], GREEDY, logprobs=1)
        assert told(first, 0)[1:] == told(again, 0)[1:]
        assert [one[0].cached for one in (first, again, other)] == [0, 3 * PIECE, 3 * PIECE]
        with working(tiny("lstm"), prefix_cache=0) as engine:
            assert told(await ask(engine, [text + "he w"], GREEDY, logprobs=1), 0)[1:] == told(other, 0)[1:]

    asyncio.run(thrice())


def test_the_prefix_cache_keeps_to_its_bytes_and_forgets_what_was_used_longest_ago() -> None:
    model = tiny("lstm").model
    state = model.start(1)
    size = sum(4 * one.numel() for one in state.tensors())
    cache = PrefixCache(4 * size)
    for first in range(6):
        cache.keep([first] * PIECE, state)
        cache.find([2] * PIECE, [PIECE])
    assert cache.bytes == 4 * size
    assert [cache.find([one] * PIECE, [PIECE])[0] > 0 for one in range(6)] == [
        False,
        False,
        True,
        True,
        True,
        True,
    ]


def test_a_long_prompt_does_not_hold_a_short_one_up() -> None:
    order: list[str] = []

    async def both() -> None:
        with working(tiny("lstm"), prefix_cache=0) as engine:

            async def one(name: str, text: str) -> None:
                await ask(engine, [text], replace(GREEDY, length=2))
                order.append(name)

            await asyncio.gather(one("long", "she was late " * 1500), one("short", "he"))

    asyncio.run(both())
    assert order == ["short", "long"]


def test_short_requests_are_answered_while_a_call_takes_long() -> None:
    order: list[str] = []

    async def both() -> None:
        with working(tiny("lstm")) as engine:
            ticket = Ticket(60.0)

            def long() -> str:
                for _ in range(400):
                    engine.bundle.embed(["she was late"])
                return "done"

            engine.submit(Call(ticket, long))

            async def call() -> None:
                assert await ticket.all() == ["done"]
                order.append("call")

            async def write() -> None:
                await ask(engine, ["he"], replace(GREEDY, length=5))
                order.append("text")

            await asyncio.gather(call(), write())

    asyncio.run(both())
    assert order == ["text", "call"]


def test_what_nobody_waits_for_stops_at_the_next_step() -> None:
    async def gone() -> Engine:
        with working(tiny("gpt")) as engine:
            prompts = prompts_of(engine.bundle, ["she"], replace(GREEDY, length=4000), streams=True)
            ticket = ticket_of(prompts)
            engine.submit(Writing(ticket, prompts))
            await ticket.next()
            ticket.give_up()
            until = time.monotonic() + 30
            while engine.running:
                assert time.monotonic() < until
                await asyncio.sleep(0)
        return engine

    engine = asyncio.run(gone())
    assert engine.counts.cancelled == 1 and engine.counts.generated_tokens < 4000


def test_a_call_that_nobody_waits_for_stops_at_its_next_step() -> None:
    async def gone() -> list[str]:
        ended: list[str] = []
        begun = threading.Event()
        with working(tiny("lstm")) as engine:
            ticket = Ticket(60.0)

            def forever() -> None:
                try:
                    while True:
                        begun.set()
                        engine.bundle.embed(["she was late"])
                except Cancelled:
                    ended.append("cancelled")
                    raise

            engine.submit(Call(ticket, forever))
            await asyncio.to_thread(begun.wait, 20)
            ticket.give_up()
            assert await ask(engine, ["he"], replace(GREEDY, length=2))
        return ended

    assert asyncio.run(gone()) == ["cancelled"]


def test_a_request_that_takes_too_long_is_ended() -> None:
    async def late() -> float:
        with working(tiny("gpt")) as engine:
            prompts = prompts_of(engine.bundle, ["she"], replace(GREEDY, length=100_000))
            ticket = ticket_of(prompts, limit=0.3)
            engine.submit(Writing(ticket, prompts))
            began = time.monotonic()
            with pytest.raises(Refused, match=r"longer than 0\.3 s"):
                await ticket.all()
            return time.monotonic() - began

    assert asyncio.run(late()) < 5


def test_a_full_queue_refuses_and_says_when_to_come_again() -> None:
    async def crowd() -> Refused:
        with working(tiny("gpt"), queue=2, batch_size=1) as engine:
            for _ in range(50):
                prompts = prompts_of(engine.bundle, ["she"], replace(GREEDY, length=3000))
                try:
                    engine.submit(Writing(ticket_of(prompts, limit=2.0), prompts))
                except Refused as error:
                    return error
            raise AssertionError("everybody was let in")

    error = asyncio.run(crowd())
    assert error.status == 429 and error.headers == {"Retry-After": "1"}


def test_a_stopping_engine_finishes_what_runs() -> None:
    async def stopped() -> list[Any]:
        with working(tiny("lstm")) as engine:
            prompts = prompts_of(engine.bundle, ["she"], replace(DRAWN, length=200))
            ticket = ticket_of(prompts)
            engine.submit(Writing(ticket, prompts))
        return await ticket.all()

    assert asyncio.run(stopped())[-1].finish in ("length", "stop")


def test_damaged_weights_fail_their_request_and_not_the_engine() -> None:
    import torch

    from chainrule.bundle import Bundle

    broken = Bundle.of(
        tiny("lstm").codec,
        type(tiny("lstm").model).from_arrays(tiny("lstm").model.config, tiny("lstm").arrays()),
    )
    with torch.no_grad():
        broken.model.output.bias.fill_(torch.nan)  # type: ignore[attr-defined]

    async def asked() -> None:
        with working(broken) as engine:
            for _ in range(2):
                with pytest.raises(Exception, match="not finite"):
                    await ask(engine, ["she"], GREEDY)
            assert engine.alive

    asyncio.run(asked())


def test_a_fault_of_ours_does_not_end_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked() -> None:
        with working(tiny("lstm")) as engine:
            with monkeypatch.context() as patch:
                patch.setattr(engine, "_admit", lambda: [][0])
                with pytest.raises(IndexError):
                    await ask(engine, ["she"], GREEDY)
            assert await ask(engine, ["she"], GREEDY)

    asyncio.run(asked())


def test_a_prompt_is_read_in_pieces_of_one_size() -> None:
    ids = prompt_ids(tiny("lstm").codec, "she was late " * 20)
    reading, sizes = Reading(tiny("lstm").model, ids, PrefixCache(0)), []
    while reading.place is None:
        sizes.append(reading.step())
    assert sizes == [PIECE] * 4 + [len(ids) - 4 * PIECE]


@pytest.mark.parametrize("name", FAMILIES)
def test_prompts_read_together_give_what_each_gives_alone(name: str) -> None:
    model = tiny(name).model
    prompts = [
        prompt_ids(tiny(name).codec, text)
        for text in ("she was late for class", "q", "", "he went to class today")
    ]

    def begun() -> list[Reading]:
        return [Reading(model, ids, PrefixCache(0), logprobs) for logprobs in (None, 2) for ids in prompts]

    with steady():
        together, alone = begun(), begun()
        for one, found in zip(together, read_together(together), strict=True):
            one.took(found)
        for one in alone:
            one.step()
    for mine, own in zip(together, alone, strict=True):
        assert mine.place and own.place and mine.logs == own.logs
        assert torch.equal(mine.place.logits, own.place.logits)
        assert all(
            torch.equal(*pair)
            for pair in zip(mine.place.state.tensors(), own.place.state.tensors(), strict=True)
        )


def test_prompts_of_a_transformer_are_read_in_one_product(monkeypatch: pytest.MonkeyPatch) -> None:
    model, sizes = tiny("gpt").model, list[Any]()
    read = type(model).read
    monkeypatch.setattr(
        type(model),
        "read",
        lambda self, tokens, state: sizes.append(tuple(tokens.shape)) or read(self, tokens, state),
    )
    readings = [Reading(model, prompt_ids(tiny("gpt").codec, text), PrefixCache(0)) for text in LINES]
    read_together(readings)
    assert sizes == [(sum(len(one.next.ids) for one in readings), 1)]


def test_a_first_symbol_waits_for_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    from chainrule.serve.rows import Rows

    held, step = threading.Event(), Rows.step
    monkeypatch.setattr(Rows, "step", lambda rows: held.wait(20) and step(rows))

    async def first() -> None:
        with working(tiny("gpt")) as engine:
            prompts = prompts_of(engine.bundle, ["she"], GREEDY, streams=True)
            ticket = ticket_of(prompts)
            engine.submit(Writing(ticket, prompts))
            try:
                assert any(isinstance(one, Written) for one in await asyncio.wait_for(ticket.next(), 10))
            finally:
                held.set()

    asyncio.run(first())


def test_a_prompt_that_comes_while_others_are_read_waits_for_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    import chainrule.serve.engine as home
    from chainrule.serve.rows import Rows

    held, step, read = threading.Event(), Rows.step, home.read_together
    monkeypatch.setattr(Rows, "step", lambda rows: held.wait(20) and step(rows))

    async def second() -> None:
        with working(tiny("gpt")) as engine:
            tickets = []

            def submitted() -> None:
                prompts = prompts_of(engine.bundle, ["she"], GREEDY, streams=True)
                tickets.append(ticket_of(prompts))
                engine.submit(Writing(tickets[-1], prompts))

            def reading(readings: list[Reading]) -> Any:
                if len(tickets) == 1:
                    loop.call_soon_threadsafe(submitted)
                    while len(tickets) == 1:
                        time.sleep(0.001)
                return read(readings)

            loop = asyncio.get_running_loop()
            monkeypatch.setattr(home, "read_together", reading)
            submitted()
            try:
                assert await asyncio.wait_for(tickets[0].next(), 10)
                assert await asyncio.wait_for(tickets[1].next(), 10)
            finally:
                held.set()

    asyncio.run(second())
