from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainrule.config import Config, amount, option, settings
from chainrule.errors import ConfigError
from chainrule.flags import Typed, read_flags


@dataclass(frozen=True, kw_only=True)
class Cake(Config):
    layers: int = option(3, "how many layers", low=1, high=9)
    sugar: float = option(0.5, "kilograms of sugar", low=0)
    icing: str = option("lemon", "what is on top", choices=("lemon", "chocolate"))
    vegan: bool = option(False, "without eggs")
    sizes: tuple[int, ...] = option((), "width of each layer", low=1)
    guests: int | None = option(None, "who comes")
    oven: Literal["gas", "wood"] = option("gas", "the oven")
    name: str = option("", "a word on it")
    secret: int = option(7, "filled in by the program", hidden=True)


@dataclass(frozen=True, kw_only=True)
class Part(Config):
    layers: int = option(2, "how many layers", low=1)
    ffn_width: int | None = option(None, "width of the MLP")
    bias: bool = option(True, "whether there is a bias")


@dataclass(frozen=True, kw_only=True)
class TwoParts(Config):
    encoder: Part = option(Part(layers=6), "reads the source")
    decoder: Part = option(Part(), "writes the target")
    width: int = option(8, "of both")


def typed(config: type[Config], words: str) -> Typed:
    return read_flags(words.split(), settings(config))


def test_flags_become_values_of_the_right_types() -> None:
    words = "--layers 4 --sugar=0.25 --icing chocolate --vegan --sizes 3,2,1 --guests 1.5k".split()
    cake = Cake.from_values(read_flags(words, settings(Cake)).values)
    assert (cake.layers, cake.sugar, cake.icing, cake.vegan) == (4, 0.25, "chocolate", True)
    assert (cake.sizes, cake.guests) == ((3, 2, 1), 1500)
    assert Cake.from_values(typed(Cake, "--no-vegan --guests none").values) == Cake()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--layer 4", "Did you mean '--layers'"),
        ("--ordr 4", "Did you mean '--order'"),
        ("--secret 4", "no option --secret"),
        ("--layers", "wants a value: how many layers"),
        ("--layers --vegan", "wants a value"),
        ("--layers 0", "at least 1, not 0"),
        ("--layers 10", "at most 9, not 10"),
        ("--layers many", "5M, not 'many'"),
        ("--layers inf", "5M, not 'inf'"),
        ("--layers 2.5", "whole number"),
        ("--sugar nan", "at least 0, not nan"),
        ("--icing lemons", "Did you mean 'lemon'"),
        ("--sizes 3,0", "at least 1, not 0"),
        ("--vegan=perhaps", "yes or no"),
        ("--no-layers", "no option --no-layers. --layers takes a value"),
        ("--oven coal", "Known: gas, wood"),
    ],
)
def test_a_wrong_flag_is_explained(words: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Cake.from_values(read_flags(words.split(), settings(Cake), {"--order": True}).values)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"layers": True}, "whole number such as 12, 10k or 5M, not True"),
        ({"layers": [3]}, "whole number"),
        ({"layers": 2.5}, "whole number such as 12, 10k or 5M, not 2.5"),
        ({"name": ["a"]}, "a text"),
        ({"layer": 3}, "Did you mean 'layers'"),
    ],
)
def test_a_wrong_value_is_explained(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Cake.from_values(values)
    assert message in str(caught.value)


def test_plain_values_give_the_same_settings_again() -> None:
    cake = Cake(layers=2, sizes=(5, 4), guests=None, vegan=True, secret=1)
    assert Cake.from_values(cake.values()) == cake
    assert Cake.from_values({"layers": 2.0, "sizes": 5}) == Cake(layers=2, sizes=(5,))


@given(name=st.text(st.characters(codec="utf-8", exclude_characters="\x7f")), sugar=st.floats(0, 1e9))
def test_toml_gives_the_same_settings_again(name: str, sugar: float) -> None:
    cake = Cake(name=name, sugar=sugar, sizes=(1, 2), guests=4)
    assert Cake.from_values(tomllib.loads(cake.to_toml())) == cake


def test_toml_shows_the_help_of_every_setting_and_hides_the_hidden() -> None:
    text = Cake().to_toml()
    assert "# how many layers\nlayers = 3\n" in text
    assert "# guests =" in text
    assert "secret" not in text


def test_toml_files_take_dashes_and_explain_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text("layers = 4\nvegan = true\n")
    assert Cake.from_toml(tmp_path / "good.toml") == Cake(layers=4, vegan=True)
    (tmp_path / "bad.toml").write_text("layers: 4")
    with pytest.raises(ConfigError, match="is not TOML"):
        Cake.from_toml(tmp_path / "bad.toml")
    with pytest.raises(ConfigError, match=r"missing\.toml cannot be read"):
        Cake.from_toml(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("10k", 10_000),
        ("1.5M", 1_500_000),
        ("2G", 2 * 10**9),
        ("2GB", 2 * 10**9),
        ("12_000", 12_000),
        ("-1", -1),
    ],
)
def test_amounts_are_read_as_people_write_them(text: str, number: int) -> None:
    assert amount(text) == number


def test_words_that_are_no_flags_of_settings_are_left_in_their_order() -> None:
    words = "a --vegan b --order 5 --layers 4 -o --vegan - -- --layers 5".split()
    found = read_flags(words, settings(Cake), {"--order": True, "-o": True, "--force": False})
    assert found.values == {"vegan": True, "layers": "4"}
    assert list(found.rest) == "a b --order 5 -o --vegan - -- --layers 5".split()


def test_a_value_of_one_flag_may_suit_the_settings_of_one_of_several_configs() -> None:
    both = [*settings(Cake), *settings(Part)]
    assert read_flags(["--layers", "12"], both).values == {"layers": "12"}
    with pytest.raises(ConfigError, match="at least 1"):
        read_flags(["--layers", "0"], both)


def test_flags_of_other_tools_are_understood_and_told() -> None:
    found = typed(TwoParts, "--encoder.num-layers 4 --encoder.d-ff=9 --hidden-size 16")
    assert found.values == {"encoder": {"layers": "4", "ffn_width": "9"}, "width": "16"}
    assert found.renamed == {
        "--encoder.num-layers": "--encoder.layers",
        "--encoder.d-ff": "--encoder.ffn-width",
        "--hidden-size": "--width",
    }


def test_settings_of_several_parts_live_in_groups() -> None:
    values = typed(
        TwoParts, "--encoder.layers 4 --width 16 --decoder.no-bias".replace(".no-bias", ".bias=no")
    )
    config = TwoParts.from_values(values.values)
    assert config == TwoParts(encoder=Part(layers=4), decoder=Part(bias=False), width=16)
    assert TwoParts.from_values({"encoder": {"bias": False}}).encoder == Part(layers=6, bias=False)
    assert TwoParts.from_values({"encoder": Part()}).encoder == Part()
    assert TwoParts.from_values(config.values()) == config
    assert {one.flag: one.default for one in settings(TwoParts)}["--encoder.layers"] == 6


def test_a_switch_in_a_group_can_be_turned_off() -> None:
    assert typed(TwoParts, "--no-decoder.bias").values == {"decoder": {"bias": False}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"encoder": {"layer": 3}}, "group encoder: .*Did you mean 'layers'"),
        ({"encoder": {"layers": 0}}, "group encoder: --layers must be at least 1"),
        ({"encoder": 3}, "encoder is a group of settings"),
        ({"layers": 3}, "no setting 'layers'"),
    ],
)
def test_a_wrong_value_in_a_group_is_explained(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TwoParts.from_values(values)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--encoder.layers 0", "--encoder.layers must be at least 1"),
        ("--encoder.layer 4", "Did you mean '--encoder.layers'"),
        ("--layers 4", "Did you mean '--decoder.layers' or '--encoder.layers'"),
    ],
)
def test_a_wrong_flag_of_a_group_is_explained(words: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        typed(TwoParts, words)
    assert message in str(caught.value)


def test_groups_are_tables_in_toml(tmp_path: Path) -> None:
    config = TwoParts(encoder=Part(layers=4, ffn_width=32), width=16)
    text = config.to_toml()
    assert "# reads the source\n[encoder]\n# how many layers\nlayers = 4\n" in text
    assert TwoParts.from_values(tomllib.loads(text)) == config
    (tmp_path / "two.toml").write_text("width = 16\n[encoder]\nlayers = 4\nffn-width = 32\n")
    assert TwoParts.from_toml(tmp_path / "two.toml") == config


def test_a_setting_of_several_texts_is_given_again_and_keeps_its_commas() -> None:
    from chainrule.decode.config import GenerationConfig

    typed = read_flags(["--stop", "a, b", "--stop=--", "--top-k", "3"], settings(GenerationConfig))
    assert GenerationConfig.from_values(typed.values).stop == ("a, b", "--")
