"""What an attack found: nothing is lost, nothing silently wrong."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

import chainrule as cr
from chainrule.cli import main
from chainrule.data.streams import chunks


def test_a_zstandard_bomb_is_read_in_small_parts(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b"a" * (1 << 28)))
    sizes = [len(part) for part in chunks(path)]
    assert sum(sizes) == 1 << 28 and max(sizes) <= 1 << 27


def test_an_arpa_file_without_line_ends_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "long.arpa.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"\\data\\\nngram 1=3\n\n\\1-grams:\n" + b"x" * (1 << 24))
    assert main(["import", "arpa", str(path), "-o", str(tmp_path / "lm")]) == 1
    assert "no ARPA file" in capsys.readouterr().err


def test_closed_standard_error_changes_nothing_else(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("she was late\nhe was late\n" * 20)
    command = f"{sys.executable} -m chainrule.cli fit {text} --json -o {tmp_path / 'lm'} 2>&-"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0 and json.loads(done.stdout)["family"] == "ngram"


def test_embed_reads_lines_as_every_verb_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cr.fit(["she was late", "he was late"] * 20, model="gru", tokens=200, width=8).save(tmp_path / "lm")
    lines = tmp_path / "lines.txt"
    lines.write_bytes("\ufeffshe was\u2028late\x0c\x85 he\nhe was late\n".encode())
    assert main(["embed", str(tmp_path / "lm"), "--file", str(lines)]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.strip("\n").split("\n")]
    assert len(found) == 2 and found[0]["text"].startswith("she")


def test_a_checkpoint_with_a_changed_weight_or_damaged_facts_is_refused(tmp_path: Path) -> None:
    from chainrule.errors import BundleError
    from chainrule.store import tensors
    from chainrule.train.checkpoint import FACTS, FILE, Checkpoint, load, save

    save(tmp_path, Checkpoint({"model/a": np.arange(6.0).reshape(2, 3)}, {"step": 1}))
    found = load(tmp_path)
    assert found is not None and found.facts == {"step": 1}
    arrays = {name: array.copy() for name, array in tensors.read(tmp_path / FILE).items()}
    changed = {**arrays, "model/a": np.where(arrays["model/a"] == 3, 1e30, arrays["model/a"])}
    lost = {FACTS: arrays[FACTS]}
    broken = {**arrays, FACTS: np.frombuffer(b"\xff{", np.uint8)}
    step = arrays[FACTS].tobytes().replace(b'"step": 1', b'"step": 7')
    for wrong in (changed, lost, broken, {**arrays, FACTS: np.frombuffer(step, np.uint8)}):
        tensors.write(tmp_path / FILE, wrong)
        with pytest.raises(BundleError, match="damaged"):
            load(tmp_path)


def test_a_config_that_claims_a_huge_width_takes_no_memory() -> None:
    from dataclasses import replace

    from chainrule.errors import ModelError
    from chainrule.models.lstm import Lstm

    small = Lstm.tiny()
    with pytest.raises(ModelError, match="damaged"):
        Lstm.from_arrays(replace(small.config, width=60_000), small.arrays())


def test_of_a_panic_nothing_is_printed_and_afterwards_all_is(capfd: pytest.CaptureFixture[str]) -> None:
    from tokenizers import Tokenizer, models

    from chainrule.codecs.rust import no_panic
    from chainrule.errors import CodecError

    damaged = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
    told = json.loads(Tokenizer(models.BPE()).to_str()) | {"normalizer": damaged}
    with pytest.raises(CodecError, match="gave up"), no_panic("loading"), no_panic("loading"):
        Tokenizer.from_str(json.dumps(told))
    os.write(2, b"heard\n")
    assert capfd.readouterr().err == "heard\n"


def test_a_panic_of_the_tokenizers_library_is_an_error() -> None:
    from chainrule.codecs.rust import no_panic
    from chainrule.errors import CodecError

    class PanicException(BaseException):  # as pyo3 calls it
        pass

    with pytest.raises(CodecError, match="tokenizers"), no_panic("encoding"):
        raise PanicException("index out of range")
    with pytest.raises(KeyboardInterrupt), no_panic("encoding"):
        raise KeyboardInterrupt


def test_two_trainings_do_not_share_a_run_folder(tmp_path: Path) -> None:
    from chainrule.errors import BundleError
    from chainrule.store.files import locked

    lines = ["she was late", "he was late"] * 20
    with locked(tmp_path / "run"), pytest.raises(BundleError, match="Another process"):
        cr.fit(lines, model="gru", tokens=200, width=8, run=tmp_path / "run")
    cr.fit(lines, model="gru", tokens=200, width=8, run=tmp_path / "run")


def test_ctrl_c_while_the_program_starts_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import builtins

    usual = builtins.__import__

    def interrupted(name: str, *more: Any, **others: Any) -> Any:
        if name == "chainrule.cli.app":
            raise KeyboardInterrupt
        return usual(name, *more, **others)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    assert main(["models"]) == 130
    assert capsys.readouterr().err == "chainrule: stopped; nothing was written.\n"


STARTING = """
import os, signal, sys
{before}
from chainrule.cli import main
{after}
sys.argv = ["chainrule", "models", *sys.argv[1:]]
sys.exit(main())
"""
AT_IMPORT = """
class Early:
    def find_spec(self, name, *more):
        if name == "{name}":
            sys.meta_path.remove(self)
            {doing}
sys.meta_path.insert(0, Early())
"""
NOW = "os.kill(os.getpid(), signal.SIGINT)"
IN_A_CALLBACK = "type('Left', (), {{'__del__': lambda self: os.kill(os.getpid(), signal.{name})}})()"


def started(before: str = "", after: str = "", *words: str) -> subprocess.CompletedProcess[str]:
    program = STARTING.format(before=before, after=after)
    return subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True)


@pytest.mark.parametrize("name", ["chainrule.cli.command", "chainrule.cli.app", "typer", "chainrule.cli.fit"])
def test_ctrl_c_during_the_first_imports_is_a_message(name: str) -> None:
    done = started(AT_IMPORT.format(name=name, doing=NOW), "", "--json")
    assert (done.returncode, done.stderr) == (130, "chainrule: stopped; nothing was written.\n")
    assert json.loads(done.stdout) == {"error": "stopped; nothing was written."}


def test_an_import_that_ctrl_c_broke_off_is_told_as_ctrl_c() -> None:
    indented = "\n" + 12 * " "
    swallowed = (
        f"try: {NOW}{indented}except KeyboardInterrupt: raise ImportError('numba._devicearray') from None"
    )
    done = started(AT_IMPORT.format(name="chainrule.models.registry", doing=swallowed))
    assert (done.returncode, done.stderr) == (130, "chainrule: stopped; nothing was written.\n")


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [("SIGINT", 130, "stopped"), ("SIGTERM", 143, "ended by SIGTERM"), ("SIGHUP", 129, "ended by SIGHUP")],
)
def test_a_signal_where_nothing_can_be_raised_comes_again(name: str, code: int, told: str) -> None:
    doing = IN_A_CALLBACK.format(name=name)
    done = started(AT_IMPORT.format(name="chainrule.models.registry", doing=doing))
    assert (done.returncode, done.stderr) == (code, f"chainrule: {told}; nothing was written.\n")


def test_the_script_of_an_installer_is_interrupted_with_a_message() -> None:
    program = f"import os, signal\nfrom chainrule.__main__ import main\n{NOW}\nmain()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "chainrule: stopped; nothing was written.\n")


def test_the_command_has_a_handler_before_it_imports_anything() -> None:
    names = "sorted(name for name in sys.modules if name.startswith('chainrule'))"
    done = started("known = set(sys.modules)", f"print({names}, set(sys.modules) - known)")
    told = done.stdout.partition("\n")[0]
    assert told.startswith("['chainrule', 'chainrule.cli'] ")
    assert not {"typing", "threading", "contextlib"} & set(re.findall(r"'([^']+)'", told))


def test_a_ctrl_c_that_is_ignored_stays_ignored() -> None:
    done = started("signal.signal(signal.SIGINT, signal.SIG_IGN)" + AT_IMPORT.format(name="typer", doing=NOW))
    assert done.returncode == 0 and done.stderr == ""


@pytest.mark.parametrize("change", ["missing", "more", "codec"])
def test_a_model_that_was_changed_and_signed_again_is_refused(change: str, tmp_path: Path) -> None:
    from chainrule.errors import BundleError
    from chainrule.store import manifest, tensors

    cr.fit(["she was late", "he was late"] * 20, model="gru", tokens=200, width=8).save(tmp_path / "lm")
    path = tmp_path / "lm" / "model.safetensors"
    arrays = {name: array.copy() for name, array in tensors.read(path).items()}
    first = min(arrays)
    if change == "missing":
        del arrays[first]
    elif change == "more":
        arrays["more"] = arrays[first]
    else:
        config = json.loads((tmp_path / "lm" / "config.json").read_text())
        config["codecs"]["text"]["config"] = ["words"]
        (tmp_path / "lm" / "config.json").write_text(json.dumps(config))
    tensors.write(path, arrays)
    manifest.write(tmp_path / "lm")
    with pytest.raises(BundleError, match=r"damaged|does not describe"):
        cr.load(tmp_path / "lm")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_probabilities_are_refused(value: float, tmp_path: Path) -> None:
    from chainrule.errors import ModelError
    from chainrule.store import manifest, tensors

    cr.fit(["she was late", "he was late"] * 20, model="gru", tokens=200, width=8).save(tmp_path / "lm")
    path = tmp_path / "lm" / "model.safetensors"
    arrays = {name: array.copy() for name, array in tensors.read(path).items()}
    arrays["embedding.weight"][:] = value
    tensors.write(path, arrays)
    manifest.write(tmp_path / "lm")
    lm = cr.load(tmp_path / "lm")
    for score in (lm.score, lambda text: lm.score_texts([text]), lambda text: list(lm.score_each([text]))):
        with pytest.raises(ModelError, match="log-probability"):
            score("she was late")


def test_weights_of_backing_off_do_not_make_probabilities_above_one(tmp_path: Path) -> None:
    from chainrule.errors import ModelError

    path = tmp_path / "odd.arpa"
    path.write_text(
        "\\data\\\nngram 1=4\nngram 2=1\n\n\\1-grams:\n-99\t<s>\t9\n-0.5\t</s>\n-0.4\tsun\t9\n-0.6\train\t9\n\n"
        "\\2-grams:\n-0.1\t<s> sun\n\n\\end\\\n"
    )
    assert main(["import", "arpa", str(path), "-o", str(tmp_path / "lm"), "-q"]) == 0
    with pytest.raises(ModelError, match="log-probability"):
        cr.load(tmp_path / "lm").score("rain rain")


def test_a_comparison_with_damaged_files_is_not_continued_as_if_nothing_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = tmp_path / "text.txt", tmp_path / "out"
    data.write_text("".join(f"she was late {number % 7}\n" for number in range(60)))
    words = ["compare", str(data), "--budget", "10s", "--models", "unigram,2-gram", "-q", "-o", str(out)]
    assert main(words) == 0
    loss = json.loads((out / "found" / "2-gram.json").read_text())["loss"]
    changes = {
        "found/2-gram.json": (str(loss), "0.001"),
        "found/unigram.json": ("{", ""),
        "plan.json": ('"codecs"', '"codics"'),
        "codecs/words/text/vocabulary.txt": ("late", "laze"),
        "seconds.txt": (".", "x"),
    }
    for name, (old, new) in changes.items():
        text = (out / name).read_text()
        assert old in text
        (out / name).write_text(text.replace(old, new, 1))
        assert main([*words, "--resume"]) == 1
        told = capsys.readouterr().err
        assert "damaged" in told and "unexpected" not in told, name
        (out / name).write_text(text)
    assert main([*words, "--resume"]) == 0
