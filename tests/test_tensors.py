from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from chainrule.errors import BundleError
from chainrule.store import tensors

KINDS = sorted(tensors.DTYPES.values())


def some() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    made = {f"a/{kind[1:]}": generator.integers(0, 2, (3, 5)).astype(kind) for kind in KINDS}
    return made | {
        "scalar": np.array(2.5),
        "empty": np.empty((0, 4), np.float32),
        "ä": np.arange(7, dtype=np.int16),
    }


def same(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> None:
    assert set(ours) == set(theirs)
    for name, array in theirs.items():
        assert ours[name].dtype == array.dtype and ours[name].shape == array.shape
        np.testing.assert_array_equal(ours[name], array)


def test_the_safetensors_library_reads_what_we_write(tmp_path: Path) -> None:
    tensors.write(tmp_path / "ours", some(), {"format": "chainrule"})
    same(safetensors.numpy.load_file(tmp_path / "ours"), some())
    with safetensors.safe_open(tmp_path / "ours", "numpy") as file:
        assert file.metadata() == {"format": "chainrule"}


def test_we_read_what_the_safetensors_library_writes(tmp_path: Path) -> None:
    safetensors.numpy.save_file(some(), tmp_path / "theirs", {"made": "by them"})
    same(tensors.read(tmp_path / "theirs"), some())


def test_coarse_numbers_become_what_they_are_halves_of(tmp_path: Path) -> None:
    values = torch.tensor([[1.0, -2.5, 3.14159], [1e-30, 65504.0, 0.0]])
    held = {"x": values.bfloat16(), "none": torch.empty(0, 2, dtype=torch.bfloat16), "y": values.half()}
    safetensors.torch.save_file(held, tmp_path / "theirs")
    found = tensors.read(tmp_path / "theirs")
    assert found["x"].dtype == found["none"].dtype == np.float32 and found["none"].shape == (0, 2)
    np.testing.assert_array_equal(found["x"], values.bfloat16().float())
    np.testing.assert_array_equal(found["y"], values.half())


@given(array=arrays_of.arrays(st.sampled_from(KINDS), arrays_of.array_shapes(min_dims=0, min_side=0)))
def test_any_array_comes_back(tmp_path_factory: pytest.TempPathFactory, array: np.ndarray) -> None:
    path = tmp_path_factory.mktemp("any") / "file"
    tensors.write(path, {"x": array})
    np.testing.assert_array_equal(tensors.read(path)["x"], array)


def test_views_and_foreign_byte_orders_are_written_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tensors, "BLOCK", 64)
    grid = np.arange(600, dtype=np.float64).reshape(20, 30)
    made = {"turned": grid.T, "every": grid[::3, ::2], "big": grid.astype(">f4"), "plain": grid}
    tensors.write(tmp_path / "file", made)
    for name, array in tensors.read(tmp_path / "file").items():
        np.testing.assert_array_equal(array, made[name])


def test_arrays_are_plain_aligned_and_writable_and_the_file_stays(tmp_path: Path) -> None:
    tensors.write(tmp_path / "file", some())
    before = (tmp_path / "file").read_bytes()
    for array in tensors.read(tmp_path / "file").values():
        assert type(array) is np.ndarray and array.flags.aligned and array.flags.writeable
        array[...] = 1
    assert (tmp_path / "file").read_bytes() == before


def test_a_memory_mapped_array_is_streamed(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "ids", np.int32, "w+", shape=(10_000,))
    mapped[:] = np.arange(10_000)
    tensors.write(tmp_path / "file", {"ids": mapped})
    np.testing.assert_array_equal(tensors.read(tmp_path / "file")["ids"], mapped)


def test_unsaveable_arrays_are_named(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="'words'"):
        tensors.write(tmp_path / "file", {"words": np.array(["a"])})
    assert list(tmp_path.iterdir()) == []


def raw(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def one(**facts: Any) -> dict[str, Any]:
    return {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | facts}


DAMAGED = {
    "nothing": b"",
    "short": b"abc",
    "header longer than the file": raw({}, length=10**9),
    "no JSON": raw(b"hello!!!"),
    "not UTF-8": raw(b"\xff\xfe{}"),
    "no object": raw([1, 2]),
    "deep JSON": raw(b"[" * 100_000),
    "a name twice": raw(b'{"x":1,"x":1}'),
    "an entry that is no object": raw({"x": 3}),
    "a missing field": raw({"x": {"dtype": "F32"}}),
    "unknown dtype": raw(one(dtype="F33"), bytes(8)),
    "a list as dtype": raw(one(dtype=[]), bytes(8)),
    "negative shape": raw(one(shape=[-2]), bytes(8)),
    "a fraction in the shape": raw(one(shape=[2.0]), bytes(8)),
    "offsets outside": raw(one(data_offsets=[8, 16]), bytes(8)),
    "offsets backwards": raw(one(data_offsets=[8, 0]), bytes(8)),
    "size unlike shape": raw(one(shape=[3]), bytes(8)),
    "huge shape": raw(one(shape=[2**62, 2**62]), bytes(8)),
    "truncated": raw(one(), bytes(7)),
    "too long": raw(one(), bytes(9)),
    "overlap": raw(one() | {"y": one()["x"]}, bytes(8)),
    "gap": raw(one() | {"y": one(data_offsets=[12, 20])["x"]}, bytes(20)),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(BundleError, match=r"model\.safetensors"):
        tensors.read(tmp_path / "model.safetensors")


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="nowhere"):
        tensors.read(tmp_path / "nowhere")


def test_opening_reads_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    size = 1 << 40  # a tebibyte of holes: opening it must cost nothing
    header = raw({"x": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}})
    with path.open("wb") as file:
        file.write(header)
        try:
            file.truncate(len(header) + size)
        except OSError:
            pytest.skip("this disk has no sparse files")
    array = tensors.read(path)["x"]
    assert array.size == size and array[-1] == 0


@pytest.mark.parametrize("shape", [[0] * 100, [1] * 100, [0, 10**30], [0, 1 << 62], [1 << 62, 1 << 62, 0]])
def test_an_absurd_shape_is_refused(tmp_path: Path, shape: list[int]) -> None:
    size = 0 if 0 in shape else 8
    text = json.dumps({"x": {"dtype": "F64", "shape": shape, "data_offsets": [0, size]}}).encode()
    (tmp_path / "file").write_bytes(len(text).to_bytes(8, "little") + text + bytes(size))
    with pytest.raises(BundleError, match="a shape no array can have"):
        tensors.read(tmp_path / "file")
