"""What clients send, as pydantic models: unknown fields are ignored, wrong ones are told by name."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chainrule.serve.refusals import Refused

MOST_TEXTS = 1024  # of one request
Id = Annotated[int, Field(ge=0, le=1 << 30)]
Ids = Annotated[list[Id], Field(max_length=1 << 24)]
Texts = Annotated[list[str], Field(min_length=1, max_length=MOST_TEXTS)]
Many = Annotated[list[Ids], Field(min_length=1, max_length=MOST_TEXTS)]
Prompts = Annotated[
    str | Texts | Annotated[Ids, Field(min_length=1)] | Many, Field(union_mode="left_to_right")
]
Stop = Annotated[str, Field(max_length=256)]
Stops = Stop | Annotated[list[Stop], Field(max_length=1024)]


class Body(BaseModel):
    """What all have: the name of a model, which may be left out."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)
    model: str | None = Field(None, description="one of /v1/models; the first if not given")


class StreamOptions(BaseModel):
    """What a stream tells beside its text."""

    model_config = ConfigDict(extra="ignore")
    include_usage: bool | None = None


class Sampling(Body):
    """How texts are drawn."""

    temperature: float | None = Field(
        None, ge=0, le=100, description="0: the best symbol only; 1 if not given"
    )
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=-1, le=1 << 30, description="0 or -1: all")
    n: int | None = Field(None, ge=1, le=128, description="texts for each prompt")
    stop: Stops | None = Field(None, description="texts that end an answer")
    seed: int | None = Field(None, ge=-(1 << 63), le=(1 << 63) - 1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None


class CompletionBody(Sampling):
    """`/v1/completions`."""

    prompt: Prompts = Field(..., description="a text, texts, ids or lists of ids")
    max_tokens: int | None = Field(None, ge=0, description="16 if not given; 0: none, for scoring with echo")
    logprobs: int | None = Field(None, ge=0, le=20, description="so many of the most probable tokens")
    echo: bool | None = None


class Message(BaseModel):
    """One of a chat."""

    model_config = ConfigDict(extra="ignore")
    role: str
    content: str | list[dict[str, Any]] | None = None


class ChatBody(Sampling):
    """`/v1/chat/completions`."""

    messages: list[Message] = Field(..., min_length=1, max_length=10_000)
    max_tokens: int | None = Field(None, ge=0)
    max_completion_tokens: int | None = Field(None, ge=0)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=20)


class EmbeddingBody(Body):
    """`/v1/embeddings`."""

    input: Prompts
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = Field(None, description="as many as the model's vectors have")


class TokenizeBody(Body):
    """`/tokenize`."""

    prompt: str
    add_special_tokens: bool = Field(False, description="begin with BOS")


class DetokenizeBody(Body):
    """`/detokenize`."""

    tokens: Ids


class TextBody(Body):
    """One text, or several."""

    text: str | None = None
    texts: Texts | None = None


class PredictBody(TextBody):
    """`/v1/predict`."""

    pair: str | Texts | None = Field(None, description="the second text of each pair")
    question: str | None = None
    passage: str | None = None
    top: int | None = Field(None, ge=1, le=1_000_000)


class TranslateBody(TextBody):
    """`/v1/translate`."""

    length: int | None = Field(None, ge=0, le=1_000_000)
    beam: int | None = Field(None, ge=1, le=64)
    length_penalty: float | None = Field(None, ge=0, le=100)
    count: int | None = Field(None, ge=1, le=64)
    temperature: float | None = Field(None, ge=0, le=100)
    top_k: int | None = Field(None, ge=1, le=1 << 30)
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int | None = Field(None, ge=-(1 << 63), le=(1 << 63) - 1)
    min_length_ratio: float | None = Field(None, ge=0, le=1000)
    max_length_ratio: float | None = Field(None, ge=0, le=1000)


class FillBody(Body):
    """`/v1/fill`."""

    text: str
    k: int = Field(5, ge=1, le=1000)


class CompleteBody(Body):
    """`/v1/complete`."""

    prompt: str = ""
    k: int = Field(5, ge=1, le=100)
    length: int = Field(10, ge=0, le=1000)
    unknown: bool = False


class RankBody(Body):
    """`/v1/rank`."""

    candidates: Texts


PROMPTS = "give a text, a list of texts, ids or lists of ids"
SEVERAL = {
    "prompt": PROMPTS,
    "input": PROMPTS,
    "stop": "give a text or a list of texts",
}  # may be of several kinds
LIMITS = ("missing", "too_long", "string_too_long", "greater_than_equal", "less_than_equal")


def invalid(error: ValidationError) -> Refused:
    """The first thing that is wrong with a body."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    first, name = errors[0], str(next(iter(errors[0]["loc"]), ""))
    if name in SEVERAL:  # one error for each kind that it is not
        limits = [one for one in errors if one["loc"][0] == name and one["type"] in LIMITS]
        why = limits[0]["msg"] if limits else SEVERAL[name]
        return Refused(400, f"{name}: {why}.", name)
    where = ".".join(str(one) for one in first["loc"] if one != "str" and not str(one).startswith("list["))
    return Refused(400, f"{where}: {first['msg']}." if where else f"{first['msg']}.", name or None)
