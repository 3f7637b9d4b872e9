"""Porter's stemmer (1980, "An algorithm for suffix stripping"): English words without their endings.

As published, and as in Porter's own programs words of one or two letters stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

SHORT = 2  # letters of words that are left alone

# The longest ending that fits decides; it is replaced if the stem before it is long enough.
SECOND = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive",
    "biliti": "ble",
}  # fmt: skip
THIRD = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
FOURTH = dict.fromkeys(
    "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize".split(), ""
)
FIRST = {"sses": "ss", "ies": "i", "ss": "ss", "s": ""}
MENDED = {"at": "ate", "bl": "ble", "iz": "ize"}  # after -ed and -ing were taken away


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a word in lower case."""
    if len(word) <= SHORT:
        return word
    word = _replaced(word, FIRST, lambda _: True)
    word = _without_ed_and_ing(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replaced(word, SECOND, lambda rest: _measure(rest) > 0)
    word = _replaced(word, THIRD, lambda rest: _measure(rest) > 0)
    word = _fourth(word)
    return _fifth(word)


def _shape(word: str) -> str:
    """Its letters as c (consonant) and v (vowel); y is a vowel after a consonant."""
    found = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and found.endswith("c"))
        found += "v" if vowel else "c"
    return found


def _measure(word: str) -> int:
    """How often consonants follow vowels: m of [C](VC)^m[V]."""
    return len(re.findall("v+c+", _shape(word)))


def _has_vowel(word: str) -> bool:
    return "v" in _shape(word)


def _double(word: str) -> bool:
    """Whether it ends with the same consonant twice."""
    return len(word) > 1 and word[-1] == word[-2] and _shape(word).endswith("c")


def _short(word: str) -> bool:
    """Whether it ends with consonant, vowel, consonant, the last one not w, x or y (*o)."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _replaced(word: str, endings: Mapping[str, str], allowed: Callable[[str], bool]) -> str:
    """The longest ending that fits replaced, if what stands before it allows that."""
    ending = max((one for one in endings if word.endswith(one)), key=len, default=None)
    if ending is None:
        return word
    rest = word.removesuffix(ending)
    return rest + endings[ending] if allowed(rest) else word


def _without_ed_and_ing(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    rest = next((word.removesuffix(one) for one in ("ed", "ing") if word.endswith(one)), None)
    if rest is None or not _has_vowel(rest):
        return word
    if rest[-2:] in MENDED:
        return rest[:-2] + MENDED[rest[-2:]]
    if _double(rest) and rest[-1] not in "lsz":
        return rest[:-1]
    return f"{rest}e" if _measure(rest) == 1 and _short(rest) else rest


def _fourth(word: str) -> str:
    """-ion falls only after s or t."""

    def allowed(rest: str) -> bool:
        return _measure(rest) > 1 and (not word.endswith("ion") or rest.endswith(("s", "t")))

    return _replaced(word, FOURTH, allowed)


def _fifth(word: str) -> str:
    """A last e, and the second l of two, fall from long words."""
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _short(rest)):
            word = rest
    return word[:-1] if _measure(word[:-1]) > 1 and word.endswith("ll") else word
