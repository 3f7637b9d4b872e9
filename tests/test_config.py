from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chainrule.config import Config, amount, option, read_flags, visible
from chainrule.errors import ConfigError


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


def test_flags_become_values_of_the_right_types() -> None:
    words = "--layers 4 --sugar=0.25 --icing chocolate --vegan --sizes 3,2,1 --guests 1.5k".split()
    cake = Cake.from_flags(words)
    assert (cake.layers, cake.sugar, cake.icing, cake.vegan) == (4, 0.25, "chocolate", True)
    assert (cake.sizes, cake.guests) == ((3, 2, 1), 1500)
    assert Cake.from_flags(["--no-vegan", "--guests", "none"]) == Cake()


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
        ("--layers many", "10k, not 'many'"),
        ("--layers inf", "10k, not 'inf'"),
        ("--layers 2.5", "whole number"),
        ("--sugar nan", "at least 0, not nan"),
        ("--icing lemons", "Did you mean 'lemon'"),
        ("--sizes 3,0", "at least 1, not 0"),
        ("--vegan=perhaps", "yes or no"),
        ("--no-layers", "no option --no-layers"),
        ("word", "one word too many: 'word'"),
        ("--oven coal", "Known: gas, wood"),
    ],
)
def test_a_wrong_flag_is_explained(words: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Cake.from_values(read_flags(words.split(), visible(Cake), also=["--order"]))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"layers": True}, "whole number such as 12 or 10k, not True"),
        ({"layers": [3]}, "whole number"),
        ({"layers": 2.5}, "whole number such as 12 or 10k, not 2.5"),
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
