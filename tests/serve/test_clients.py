"""Real clients: the package `openai`, and the requests of an evaluation harness word for word."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator

import httpx2 as httpx
import numpy as np
import openai
import pytest

from chainrule.symbols import BOS, EOS

from .asking import server, tiny

TEMPLATE = "{% for message in messages %}{{ message.role }} {{ message.content }} {% endfor %}she"
NATS = math.log(2.0)


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with server({name: tiny(name) for name in ("ngram", "gpt", "lstm")}, TEMPLATE, key="secret") as client:
        yield client


@pytest.fixture(scope="module")
def client(http: httpx.Client) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{http.base_url}/v1", api_key="secret", max_retries=0) as found:
        yield found


def test_a_plain_completion(client: openai.OpenAI) -> None:
    found = client.completions.create(model="ngram", prompt="she ", max_tokens=8, temperature=0)
    assert found.choices[0].text == tiny("ngram").generate("she ", 8, temperature=0.0).removeprefix("she ")
    assert found.usage and (found.usage.prompt_tokens, found.usage.completion_tokens) == (4, 8)
    assert found.choices[0].finish_reason == "length"


def test_choices_are_prompt_major_and_drawn_by_seeds_that_count_up(client: openai.OpenAI) -> None:
    found = client.completions.create(model="gpt", prompt=["she", "he"], n=3, max_tokens=12, seed=7)
    assert [one.index for one in found.choices] == list(range(6))
    expected = tiny("gpt").generate(["she"] * 3 + ["he"] * 3, 12, 7)
    prompts = ["she"] * 3 + ["he"] * 3
    assert [prompt + one.text for prompt, one in zip(prompts, found.choices, strict=True)] == expected


def test_a_stream_says_the_same_and_how_much_it_was(client: openai.OpenAI) -> None:
    asked = {"model": "gpt", "prompt": "she w", "max_tokens": 20, "temperature": 0}
    whole = client.completions.create(**asked)  # type: ignore[call-overload]
    pieces = list(client.completions.create(**asked, stream=True, stream_options={"include_usage": True}))  # type: ignore[call-overload]
    assert "".join(one.choices[0].text for one in pieces if one.choices) == whole.choices[0].text
    assert len(pieces) > 5 and pieces[-2].choices[0].finish_reason == whole.choices[0].finish_reason
    assert pieces[-1].choices == [] and pieces[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert all(one.usage is None for one in pieces[:-1])


def test_many_asynchronous_clients(http: httpx.Client) -> None:
    async def all_of_them() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{http.base_url}/v1", api_key="secret") as client:
            asked = (
                client.completions.create(model="lstm", prompt="she", max_tokens=12, seed=seed)
                for seed in range(12)
            )
            return [one.choices[0].text for one in await asyncio.gather(*asked)]

    expected = [tiny("lstm").generate("she", 12, seed).removeprefix("she") for seed in range(12)]
    assert asyncio.run(all_of_them()) == expected


def test_echo_tells_of_every_token_and_json_can_say_it(client: openai.OpenAI) -> None:
    for count in (0, 3):
        found = client.completions.create(
            model="ngram", prompt="she zq", max_tokens=count, logprobs=2, echo=True, temperature=0
        )
        [choice] = found.choices
        logs = choice.logprobs
        assert logs and logs.tokens and logs.token_logprobs and logs.top_logprobs and logs.text_offset
        assert choice.text.startswith("she zq") and len(logs.tokens) == 6 + count
        assert logs.token_logprobs[0] is None and logs.top_logprobs[0] is None
        for token, log, top in list(zip(logs.tokens, logs.token_logprobs, logs.top_logprobs, strict=True))[
            1:
        ]:
            assert math.isfinite(log) and top[token] == log and 2 <= len(top) <= 3
        expected = [one.log2prob * NATS for one in tiny("ngram").score("she zq").tokens]
        assert logs.token_logprobs[1:6] == pytest.approx(expected[1:6], abs=1e-6)
        assert logs.text_offset[:6] == list(range(6))


def test_ids_are_prompts_too_and_the_first_may_be_bos(http: httpx.Client) -> None:
    ids = http.post("/tokenize", json={"model": "gpt", "prompt": "she"}).json()["tokens"]
    asked = {"model": "gpt", "max_tokens": 0, "echo": True, "logprobs": 0}
    texts = http.post("/v1/completions", json={**asked, "prompt": ["she", "he"]}).json()["choices"]
    plain = http.post("/v1/completions", json={**asked, "prompt": ids}).json()["choices"]
    lists = http.post("/v1/completions", json={**asked, "prompt": [ids, [BOS, *ids]]}).json()["choices"]
    assert plain[0] == texts[0] == lists[0]
    logs = lists[1]["logprobs"]["token_logprobs"]
    expected = [one.log2prob * NATS for one in tiny("gpt").score("she").tokens[:-1]]
    assert logs[0] is None and logs[1:] == pytest.approx(expected, abs=1e-5)
    assert logs[2:] == texts[0]["logprobs"]["token_logprobs"][1:]


def test_stops_end_a_text_and_are_left_out(client: openai.OpenAI) -> None:
    asked = {"model": "ngram", "prompt": "sh", "max_tokens": 30, "temperature": 0, "logprobs": 0}
    whole = client.completions.create(**asked).choices[0].text  # type: ignore[call-overload]
    stops = ["zzz", whole[4:6], *[f"never {at}" for at in range(20)]]
    found = client.completions.create(**asked, stop=stops).choices[0]  # type: ignore[call-overload]
    assert found.text == whole[: whole.index(whole[4:6])] and found.finish_reason == "stop"
    assert len(found.logprobs.tokens) == len(found.text)


def test_a_chat(client: openai.OpenAI) -> None:
    messages = [{"role": "user", "content": "he was"}]
    asked = {"model": "ngram", "messages": messages, "max_tokens": 10, "temperature": 0}
    found = client.chat.completions.create(**asked, logprobs=True, top_logprobs=2)  # type: ignore[call-overload]
    expected = tiny("ngram").generate("user he was she", 10, temperature=0.0).removeprefix("user he was she")
    assert found.choices[0].message.content == expected
    assert len(found.choices[0].logprobs.content) == found.usage.completion_tokens
    pieces = list(client.chat.completions.create(**asked, stream=True))  # type: ignore[call-overload]
    assert "".join(one.choices[0].delta.content or "" for one in pieces) == expected
    assert pieces[0].choices[0].delta.role == "assistant"


def test_a_model_without_a_template_says_so() -> None:
    with server({"lm": tiny("ngram")}) as http:
        found = http.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": "x"}]})
    assert found.status_code == 400 and "has no chat template" in found.json()["error"]["message"]


def test_embeddings_as_numbers_and_packed(client: openai.OpenAI, http: httpx.Client) -> None:
    texts = ["she went", "he"]
    packed = client.embeddings.create(model="gpt", input=texts)  # the package asks for base64
    plain = http.post(
        "/v1/embeddings", json={"model": "gpt", "input": texts, "encoding_format": "float"}
    ).json()
    for mine, theirs, expected in zip(packed.data, plain["data"], tiny("gpt").embed(texts), strict=True):
        assert np.allclose(mine.embedding, expected, atol=1e-5)
        assert np.array_equal(np.float32(theirs["embedding"]), np.float32(mine.embedding))
    assert packed.usage.prompt_tokens == 10


def test_wrong_questions_are_told_in_openais_shape(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="no model 'other'"):
        client.completions.create(model="other", prompt="x")
    with pytest.raises(openai.BadRequestError, match="temperature") as caught:
        client.completions.create(model="gpt", prompt="x", temperature=-1)
    assert caught.value.param == "temperature"
    with pytest.raises(openai.AuthenticationError, match="wants a key"):
        client.with_options(api_key="wrong").models.list()
    assert [one.id for one in client.models.list()] == ["ngram", "gpt", "lstm"]


# What lm_eval 0.4.13 sends for --model local-completions.


def encoded(http: httpx.Client, text: str) -> list[int]:
    """As its remote tokenizer does."""
    found: list[int] = http.post("/tokenize", json={"prompt": text, "add_special_tokens": False}).json()[
        "tokens"
    ]
    return found


def loglikelihood(
    http: httpx.Client, contexts: list[list[int]], continuations: list[list[int]]
) -> list[float]:
    inputs = [before + after for before, after in zip(contexts, continuations, strict=True)]
    payload = {
        "model": "ngram",
        "prompt": inputs,
        "temperature": 0,
        "max_tokens": 1,
        "logprobs": 1,
        "seed": 1234,
    }
    found = http.post("/v1/completions", json=payload | {"echo": True}).json()
    sums = []
    for choice, context in zip(sorted(found["choices"], key=lambda one: one["index"]), contexts, strict=True):
        logs, tops = (
            choice["logprobs"][name][len(context) : -1] for name in ("token_logprobs", "top_logprobs")
        )
        assert all(log <= max(top.values()) for log, top in zip(logs, tops, strict=True))
        sums.append(sum(logs))
    return sums


def test_the_harness_finds_the_tokenizer(http: httpx.Client) -> None:
    info = http.get("/tokenizer_info").json()
    assert (encoded(http, info["bos_token"]), encoded(http, info["eos_token"])) == ([BOS], [EOS])
    assert http.post("/detokenize", json={"tokens": encoded(http, "she went")}).json() == {
        "prompt": "she went"
    }


def test_the_harness_finds_the_perplexity_that_score_has(http: httpx.Client) -> None:
    texts = ["she was late today", "what is the weather", "he wqs 93"]
    found = loglikelihood(http, [[BOS]] * 3, [encoded(http, text) for text in texts])
    expected = [sum(one.log2prob for one in tiny("ngram").score(text).tokens[:-1]) * NATS for text in texts]
    assert found == pytest.approx(expected, abs=1e-4)


def test_the_harness_chooses_what_a_direct_computation_chooses(http: httpx.Client) -> None:
    context, choices = "she was ", ["late today", "class to went", "today late"]
    known = encoded(http, context.rstrip())
    after = [encoded(http, context + choice)[len(known) :] for choice in choices]
    found = loglikelihood(http, [known] * 3, after)
    bits = [[one.log2prob for one in tiny("ngram").score(context + choice).tokens[:-1]] for choice in choices]
    assert found == pytest.approx([sum(one[len(known) :]) * NATS for one in bits], abs=1e-4)
    assert int(np.argmax(found)) == 0
