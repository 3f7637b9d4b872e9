"""Flags: all settings of Configs, in any order, under their names or those of other tools, and in groups."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import chainrule as cr
from chainrule.bundle import load
from chainrule.config import Config, option
from chainrule.data.roles import Role
from chainrule.errors import ConfigError
from chainrule.models import registry
from chainrule.models.base import ModelConfig
from chainrule.models.cache import Cache, CacheConfig
from chainrule.tasks import base as tasks
from chainrule.tasks.next import Next
from chainrule.train import fit as training

from .conftest import Chainrule

TINY = ["--codec", "words", "--epochs", "1", "--width", "8"]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAINRULE_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.mark.parametrize("switch", ["--bf16", "--no-bf16", "--stateful", "--average", "--stream"])
def test_a_switch_may_stand_before_the_data(
    chainrule: Chainrule, book: Path, tmp_path: Path, switch: str
) -> None:
    done = chainrule("fit", "--model", "lstm", switch, book, "-o", tmp_path / "lm", *TINY, "-q")
    assert done.code == 0, done.err


def headings(text: str) -> list[str]:
    return [line[:-1] for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]


def test_help_for_a_family_shows_every_setting_in_groups(chainrule: Chainrule) -> None:
    text = chainrule("fit", "--model", "LSTM", "--help").out
    assert headings(text)[2:] == ["Model lstm", "Task next", "Training", "Fitting", "Codec", "Data"]
    words = ["--width INTEGER", "--lr NUMBER", "--budget", "--label-smoothing", "--min-count", "--column"]
    assert all(word in text for word in words) and "--no-bf16" in text
    assert "[additive|no-output|separate|coupled]" in text and "[default: 0.01]" in text
    counted = chainrule("fit", "--model=ngram", "--codec", "words", "--help").out
    assert headings(counted)[2:] == ["Model ngram", "Fitting", "Codec words", "Data"]
    assert "--order" in counted and "--lr" not in counted and "--bins" not in counted
    masked = chainrule("fit", "--model", "bert", "--help").out
    assert "Task masked:" in masked and "--mask-prob" in masked


def test_plain_help_shows_the_usual_settings_and_where_the_rest_is(chainrule: Chainrule) -> None:
    text = chainrule("fit", "--help").out
    shown = [
        "Model ngram, the default",
        "Training, for models that learn by gradient",
        "Fitting",
        "Codec",
        "Data",
    ]
    assert headings(text)[2:] == shown
    assert all(flag in text for flag in ("--order", "--budget", "--min-count", "--column", "--refit"))
    assert "--gates" not in text
    assert "chainrule fit --model lstm --help" in " ".join(text.split())


def test_models_lists_the_same_groups_as_help(chainrule: Chainrule) -> None:
    options = chainrule("models", "lstm", "--json").json["options"]
    groups = {one["flag"]: one["group"] for one in options}
    assert (groups["--budget"], groups["--width"], groups["--vocab"]) == ("Training", "Model lstm", "Codec")
    text = chainrule("models", "LSTM").out
    assert all(flag in text for flag in ("--budget", "--lr", "--batch-size", "--column", "--gates"))
    assert "--mask-prob" in chainrule("models", "masked").out
    assert chainrule("models", "bytes").out == "bytes has no settings.\n"


@pytest.mark.parametrize(
    ("words", "note", "setting"),
    [
        (["--hidden-size", "12"], "--hidden-size is called --width here", ("width", 12)),
        (["--hidden-dim=12"], "--hidden-dim is called --width here", ("width", 12)),
        (["--num-layers", "2"], "--num-layers is called --layers here", ("layers", 2)),
        (["--embedding-size", "6"], "--embedding-size is called --embedding here", ("embedding", 6)),
    ],
)
def test_flags_of_other_tools_are_understood_and_pointed_out_once(
    chainrule: Chainrule, book: Path, tmp_path: Path, words: list[str], note: str, setting: tuple[str, int]
) -> None:
    flags = ["--codec", "words", "--num-epochs", "1", "--learning-rate", "0.01", "--batch", "4"]
    done = chainrule("fit", book, "--model", "LSTM", *flags, *words, "-o", tmp_path / "lm")
    assert done.code == 0 and done.err.count(note) == 1, done.err
    assert "--learning-rate is called --lr here" in done.err and "model LSTM is called lstm here" in done.err
    config = load(tmp_path / "lm").config["model"]
    assert config[setting[0]] == setting[1]
    assert load(tmp_path / "lm").card["settings"]["lr"] == 0.01


@pytest.mark.parametrize("alias", ["--max-len", "--max-tokens", "--max-new-tokens"])
def test_the_length_of_what_is_generated_has_many_names(chainrule: Chainrule, lm: Path, alias: str) -> None:
    ours = chainrule("generate", lm, "what", "--length", "2", "--seed", "1")
    theirs = chainrule("generate", lm, "what", alias, "2", "--seed", "1")
    assert theirs.out == ours.out and f"{alias} is called --length here" in theirs.err
    assert chainrule("generate", lm, "what", alias, "2", "--seed", "1", "-q").err == ""


def test_keywords_of_other_tools_are_understood_in_python_too(book: Path) -> None:
    with pytest.warns(UserWarning, match="ngram_order is called order here"):
        found = cr.fit(book, model="N-Gram", codec="words", ngram_order=2)
    assert found.config["model"]["order"] == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lr", "0.1"], "--lr is a setting of the models bert, cnn, elmo, gpt"),
        (["--learning-rate", "0.1"], "--learning-rate is a setting of the models bert,"),
        (["--rate", "0.1"], "There is no option --rate. --lr is a setting of the models bert"),
        (["--model", "gpt", "--rate", "0.1"], "There is no option --rate. Did you mean '--lr'?"),
        (["--model", "gpt", "--rows", "8"], "There is no option --rows. Did you mean '--batch-size'?"),
        (["--model", "gpt", "--span", "8"], "There is no option --span. Did you mean '--seq-len'?"),
        (["--model", "gpt", "--clip", "1"], "There is no option --clip. Did you mean '--clip-norm'?"),
        (["--model", "lstm", "--hiden-size", "8"], "Did you mean '--width'?"),
        (["--dropuot", "0.1"], "'dropout' is a setting of other models or calls"),
        (["--label-smoothing", "0.1"], "--label-smoothing is a setting of the models bert"),
        (["--mask-prob", "0.1"], "--mask-prob is a setting of the model bert. Add --model bert"),
        (
            ["--model", "lstm", "--heads", "2"],
            "--heads is a setting of the models bert, gpt, seq2seq and transformer. Choose one with --model",
        ),
        (["--model", "lsmt"], "Did you mean 'lstm'?"),
        (["--model", "5-gram"], "--model ngram --order 5"),
        (["--model", "lstm", "--task", "maskd"], "Did you mean 'masked'?"),
        (["--model", "lstm", "--budget", "soon"], "90s, 10m or 1.5h"),
        (["--model", "lstm", "--lr", "fast"], "--lr wants a number"),
        (["--format", "cvs"], "Did you mean 'csv'"),
        (["--vocab", "many"], "--vocab wants a whole number"),
        (["--model", "mix"], "chainrule mix A B"),
    ],
)
def test_mistakes_are_told_before_anything_else(
    chainrule: Chainrule, lm: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    done = chainrule("fit", tmp_path / "no such file", "-o", lm, *words)
    assert done.code == 2 and message in done.err, done.err
    assert done.err.count("--") < 12, "never fifty suggestions"


@pytest.mark.parametrize(
    ("verb", "meant"),
    [
        ("train", "fit"),
        ("trian", "fit"),
        ("Train", "fit"),
        ("sample", "generate"),
        ("perplexity", "score"),
        ("prplexity", "score"),
        ("chek", "check"),
        ("rnak", "rank"),
    ],
)
def test_a_wrong_verb_gets_the_right_one(chainrule: Chainrule, verb: str, meant: str) -> None:
    done = chainrule(verb, "book.txt")
    assert done.code == 2 and f"Did you mean '{meant}'?" in done.err


def test_a_flag_that_another_verb_has_is_no_advice_to_add_a_model(chainrule: Chainrule, book: Path) -> None:
    done = chainrule("check", book, "--order", "3")
    assert done.code == 2 and "no option --order" in done.err and "--model" not in done.err


def test_settings_of_reading_are_refused_for_a_text(chainrule: Chainrule, lm: Path) -> None:
    done = chainrule("score", lm, "what is", "--column", "text")
    assert done.code == 2 and "--column is for data" in done.err


@dataclass(frozen=True, kw_only=True)
class Part(Config):
    layers: int = option(2, "how many layers", low=1)
    width: int = option(16, "hidden size", low=1)


@dataclass(frozen=True, kw_only=True)
class TwinConfig(CacheConfig):
    encoder: Part = option(Part(layers=6), "reads the source")
    decoder: Part = option(Part(), "predicts the target")


@pytest.fixture
def twin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A family of two parts."""
    monkeypatch.setattr(registry.FAMILIES, "_known", dict(registry.FAMILIES._known))

    @registry.register("twin")
    class Twin(Cache):
        Config: ClassVar[type[ModelConfig]] = TwinConfig


def test_a_family_of_two_parts_is_set_by_flags_files_and_python(
    chainrule: Chainrule, book: Path, tmp_path: Path, twin: None
) -> None:
    assert "--encoder.layers INTEGER" in chainrule("fit", "--model", "twin", "--help").out
    (tmp_path / "twin.toml").write_text('model = "twin"\n[encoder]\nlayers = 3\nd-model = 32\n')
    words = ["--config", tmp_path / "twin.toml", "--encoder.layers", "4", "--decoder.hidden-size=8"]
    done = chainrule("fit", *words, book, "--codec", "words", "-o", tmp_path / "lm")
    assert done.code == 0 and "--decoder.hidden-size is called --decoder.width here" in done.err
    assert "note: encoder.d_model is called encoder.width here" in done.err
    config = load(tmp_path / "lm").model.config
    assert isinstance(config, TwinConfig)
    assert (config.encoder, config.decoder) == (Part(layers=4, width=32), Part(width=8))
    python = cr.fit(
        book, model="twin", codec="words", encoder={"layers": 4, "width": 32}, decoder=Part(width=8)
    )
    assert python.model.config == config
    assert "layers" in chainrule("show", tmp_path / "lm").out
    wrong = chainrule("fit", book, "--model", "twin", "--layers", "4", "-o", tmp_path / "no")
    assert wrong.code == 2 and "'--decoder.layers' or '--encoder.layers'" in wrong.err


@pytest.fixture
def labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that reads two columns."""
    monkeypatch.setattr(tasks.TASKS, "_known", dict(tasks.TASKS._known))

    @tasks.register("labels")
    class Labels(Next):
        def roles(self) -> Sequence[Role]:
            return (Role("text"), Role("label"))


def test_columns_and_codecs_of_a_task_with_several_roles_are_groups(
    chainrule: Chainrule, book: Path, tmp_path: Path, labels: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, object] = {}

    def fit(source: object, **options: object) -> None:
        seen.update(options)
        raise ConfigError("seen")

    monkeypatch.setattr(training, "fit", fit)
    assert "--label.column" in chainrule("fit", "--model", "lstm", "--task", "labels", "--help").out
    (tmp_path / "set.toml").write_text('[label]\ncodec = "events"\n')
    words = ["--label.column", "stars", "--config", tmp_path / "set.toml", "--label.min-freq", "2"]
    done = chainrule("fit", book, "--model", "lstm", "--task", "labels", *words, "-o", tmp_path / "lm")
    assert "seen" in done.err and "--label.min-freq is called --label.min-count here" in done.err
    assert seen["label"] == {"codec": "events", "column": "stars", "min_count": "2"}


def test_a_group_in_a_file_is_checked(chainrule: Chainrule, book: Path, tmp_path: Path, twin: None) -> None:
    (tmp_path / "twin.toml").write_text("[encoder]\nlayer = 3\n")
    words = ["fit", book, "--model", "twin", "--config", tmp_path / "twin.toml", "-o", tmp_path / "lm"]
    done = chainrule(*words)
    assert done.code == 2 and "twin.toml" in done.err and "'encoder.layers'" in done.err
    (tmp_path / "twin.toml").write_text("encoder = 3\n")
    assert "unknown setting 'encoder'" in chainrule(*words).err


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "--help"],
        ["fit", "--model", "ngram", "--help"],
        ["models", "ngram"],
        ["check", "--help"],
        ["fit", "book.txt", "--modle", "lstm", "-o", "lm"],
    ],
    ids=" ".join,
)
def test_help_and_slips_of_the_finger_need_no_torch(words: list[str]) -> None:
    program = f"import sys; from chainrule.cli import main; main({words}); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0


def test_a_misspelt_name_of_another_tool_gets_ours(chainrule: Chainrule, book: Path, tmp_path: Path) -> None:
    done = chainrule("fit", book, "--model", "lstm", "--learning-rat", "0.1", "-o", tmp_path / "lm")
    assert done.code == 2 and "Did you mean '--lr'?" in done.err


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"model": "lstm", "learning_rte": 0.1}, "Did you mean 'lr'?"),
        ({"model": "lstm", "hiden_size": 8}, "Did you mean 'width'?"),
        ({"model": "lstm", "rows": 8}, "Did you mean 'batch_size'?"),
        ({"ordr": 3}, "Did you mean 'order'?"),
        ({"learning_rte": 0.1}, "'lr' is a setting of other models or calls."),
    ],
)
def test_a_misspelt_keyword_gets_the_nearest_setting_in_python_too(
    book: Path, options: dict[str, Any], advice: str
) -> None:
    with pytest.raises(ConfigError, match="There is no option") as caught:
        cr.fit(book, codec="words", **options)
    assert advice in str(caught.value)


@pytest.mark.parametrize("more", [["--seed", "1"], ["--temperature", "0.5"], ["--draft", "{lm}"]])
def test_what_a_beam_would_ignore_is_refused(
    chainrule: Chainrule, book: Path, tmp_path: Path, more: list[str]
) -> None:
    lm = tmp_path / "lm"
    chainrule("fit", book, "--order", "2", "-o", lm)
    done = chainrule("generate", lm, "she", "--beam", "2", *(word.format(lm=lm) for word in more))
    assert done.code == 2 and "do not go together" in done.err
