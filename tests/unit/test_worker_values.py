"""Inputs in the worker: described in words, copied with their layout, compared, restored."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tuner.printable import printable
from tuner.worker import values
from tuner.worker.copies import clone, restored, same_bits


class Pair(NamedTuple):
    """Two values by name."""

    left: Any
    right: Any


class UnprintableError(Exception):
    """Fails at being printed."""

    def __str__(self) -> str:
        """Raise instead of returning."""
        raise SystemExit(3)


def arrays() -> dict[str, Any]:
    """Return arrays of numpy in every layout."""
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    return {
        "plain": base.copy(),
        "fortran": np.asfortranarray(base),
        "columns": base.copy()[:, :3],
        "steps": base.copy()[::2, ::3],
        "reversed": base.copy()[::-1, ::-1],
        "broadcast": np.broadcast_to(np.float32(3), (4, 6)),
        "empty": np.zeros((0, 3), np.float32),
        "scalar": np.array(2.5),
        "complex": (base + 1j)[:, ::2],
        "nan": np.full(3, np.nan),
        "object": np.array([1, "a"], object),
    }


def tensors() -> dict[str, Any]:
    """Return tensors of torch in every layout; skips without torch."""
    torch = pytest.importorskip("torch")
    base = torch.arange(48.0).reshape(2, 3, 2, 4)
    return {
        "plain": base.clone(),
        "transposed": base.clone().transpose(0, 2),
        "channels_last": base.contiguous(memory_format=torch.channels_last),
        "columns": base.clone()[..., 1:3],
        "steps": base.clone()[:, ::2],
        "expanded": torch.arange(3.0)[:, None].expand(3, 5),
        "empty": torch.empty(0, 3),
        "scalar": torch.tensor(2.5),
        "complex": torch.complex(base, base),
        "complex columns": torch.complex(base, base)[..., :2],
        "double complex": torch.complex(base.double(), base.double()),
        "conjugate": torch.complex(base, base).conj(),
        "nan": torch.full((3,), float("nan")),
        "half": base.half(),
        "bool": base > 5,
        "integer": base.long(),
        "parameter": torch.nn.Parameter(base.clone()),
        "grad": base.clone().requires_grad_() * 2,
        "sparse": torch.eye(3).to_sparse(),
    }


EVERY_ARRAY = tuple(arrays())
EVERY_TENSOR = (
    "plain",
    "transposed",
    "channels_last",
    "columns",
    "steps",
    "expanded",
    "empty",
    "scalar",
    "complex",
    "conjugate",
    "nan",
    "half",
    "bool",
    "integer",
    "parameter",
    "grad",
    "sparse",
)


def layout(value: Any) -> Any:
    """Return what a kernel can see of how a value lies in memory."""
    if values.is_array(value):
        return value.strides
    return value.stride() if str(value.layout) == "torch.strided" else str(value.layout)


def changed(value: Any) -> None:
    """Change one element of a value in place."""
    value = value.detach() if values.is_tensor(value) else value
    index = tuple(size - 1 for size in value.shape)
    if value.dtype in {bool, object} or str(value.dtype) == "torch.bool":
        value[index] = not value[index]
    else:
        value[index] = 77


def check_copy(value: Any) -> None:
    """Check that a copy is the same, apart, seen to change, and restored."""
    copied = clone(value)
    assert copied.shape == value.shape
    assert copied.dtype == value.dtype
    assert layout(copied) == layout(value)
    assert same_bits(copied, value)
    assert same_bits(value, copied)
    numel = value.numel() if values.is_tensor(value) else value.size
    if not numel or "sparse" in str(layout(value)):
        return
    changed(copied)
    assert not same_bits(copied, value)
    again = restored(copied, value)
    assert again is copied
    assert same_bits(copied, value)


@pytest.mark.parametrize("name", EVERY_ARRAY)
def test_a_copy_of_an_array_has_its_layout_and_none_of_its_memory(name: str) -> None:
    """Strides stay, since a kernel's time depends on them; a change is seen and undone."""
    check_copy(arrays()[name])


@pytest.mark.parametrize("name", EVERY_TENSOR)
def test_a_copy_of_a_tensor_has_its_layout_and_none_of_its_memory(name: str) -> None:
    """As of an array; a history of gradients is left behind."""
    value = tensors()[name]
    check_copy(value)
    assert not clone(value).requires_grad


@pytest.mark.parametrize("name", ["complex columns", "double complex"])
def test_complex_tensors_are_compared_to_the_bit(name: str) -> None:
    """NaN in either part equals itself."""
    value = tensors()[name]
    value[0] = complex(float("nan"), 1)
    check_copy(value)


def test_what_is_written_between_the_rows_of_a_tensor_is_seen_and_undone() -> None:
    """A kernel that ignores strides writes there."""
    torch = pytest.importorskip("torch")
    value = torch.zeros(4, 6)[:, :3]
    copied = clone(value)
    copied.as_strided((21,), (1,))[4] = 5
    assert torch.equal(copied, value)
    assert not same_bits(copied, value)
    assert same_bits(restored(copied, value), value)


def test_values_in_containers_are_copied_compared_and_restored_as_well() -> None:
    """Lists, tuples, named ones and dicts, one in the other; the containers stay the same."""
    fresh = [[np.zeros(2), {"a": np.ones(3)}], (np.zeros(1), 5), Pair(np.zeros(2), None)]
    copied = clone(fresh)
    assert isinstance(copied[2], Pair)
    assert same_bits(copied, fresh)
    copied[0][1]["a"][1] = 9
    copied[1][0][0] = 9
    assert not same_bits(copied, fresh)
    inner = copied[0]
    again = restored(copied, fresh)
    assert again is copied
    assert again[0] is inner
    assert same_bits(again, fresh)
    assert fresh[0][1]["a"].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda inputs: inputs.append(1),
        lambda inputs: inputs.clear(),
        lambda inputs: inputs[1].pop("k"),
        lambda inputs: inputs[1].update(more=1),
        lambda inputs: inputs.__setitem__(0, None),
        lambda inputs: inputs.__setitem__(0, np.zeros(7)),
        lambda inputs: inputs.__setitem__(0, np.zeros(2, np.int8)),
    ],
)
def test_what_a_kernel_made_of_its_containers_is_undone(spoil: Any) -> None:
    """Where that cannot be done in place, a new copy takes the place."""
    fresh: list[Any] = [np.arange(2.0), {"k": np.ones(1)}, 3]
    copied = clone(fresh)
    spoil(copied)
    assert not same_bits(copied, fresh)
    again = restored(copied, fresh)
    assert same_bits(again, fresh)
    assert again[2] == 3
    assert again[0] is not fresh[0]


def test_a_tensor_that_was_resized_is_replaced() -> None:
    """`resize_` changes the shape in place: what was is copied anew."""
    torch = pytest.importorskip("torch")
    fresh = torch.arange(6.0).reshape(2, 3)
    copied = clone(fresh)
    copied.resize_(1)
    assert not same_bits(copied, fresh)
    again = restored(copied, fresh)
    assert torch.equal(again, fresh)
    again[0, 0] = 5
    assert fresh[0, 0] == 0


def test_an_object_that_cannot_be_copied_is_shared() -> None:
    """A lock among the inputs ends no run."""
    import threading

    lock = threading.Lock()
    assert clone([lock, 1])[0] is lock
    assert same_bits([lock], [lock])
    assert restored([lock], [lock])[0] is lock


def test_inputs_are_told_in_words_by_dtype_sizes_and_layout() -> None:
    """What a time depends on stands there; long words end in a checksum."""
    wide = np.zeros((4, 6), np.float16)
    assert values.in_words([wide, 3, None, True, 0.5, "a\n"]) == (
        "float16[4,6] 3 None True 0.5 'a\\n'"
    )
    assert values.in_words([wide[:, :3], wide.T]) == "float16[4,3]/6,1 float16[6,4]/1,6"
    assert values.in_words([[wide, 1], (2,), {"k": wide}, object()]) == (
        "(float16[4,6] 1) (2) {'k':float16[4,6]} object"
    )
    long = values.in_words([wide] * 50)
    assert len(long) < 220
    assert long != values.in_words([*[wide] * 49, 1])
    assert values.in_words([]) == ""


def test_tensors_are_told_in_the_words_of_arrays() -> None:
    """The dtype has no `torch.`, strides stand where they are not plain."""
    torch = pytest.importorskip("torch")
    x = torch.zeros(2, 3, 4, 5, dtype=torch.bfloat16)
    last = x.contiguous(memory_format=torch.channels_last)
    assert values.in_words([x, last]) == "bfloat16[2,3,4,5] bfloat16[2,3,4,5]/60,1,15,3"
    assert values.in_words([torch.eye(3).to_sparse()]) == "float32[3,3]/sparse_coo"


def test_the_dtype_is_that_of_the_first_input_with_a_fraction() -> None:
    """Indices come first only where nothing has a fraction; without arrays it is none."""
    index, x = np.zeros(1, np.int64), np.zeros(1, np.float16)
    assert values.dtype_of([index, x]) == "float16"
    assert values.dtype_of([3, [index, {"k": x}]]) == "float16"
    assert values.dtype_of([None, index]) == "int64"
    assert values.dtype_of([3, "a"]) == "none"
    assert values.dtype_of([np.zeros(1, ">f4")]) == "float32"


def test_the_same_shape_has_the_same_random_numbers() -> None:
    """All three generators are seeded by the shape alone."""

    def drawn(shape: tuple[int, ...]) -> tuple[float, float]:
        values.seed(shape)
        return random.random(), float(np.random.rand())  # noqa: NPY002, S311

    assert drawn((1, 2)) == drawn((1, 2)) != drawn((2, 1))


def test_weights_are_shared_where_names_and_sizes_agree_and_nowhere_else() -> None:
    """A module of other layers keeps what it has."""
    torch = pytest.importorskip("torch")
    reference, model, other = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4), torch.nn.Linear(4, 4)
    values.share_weights(reference, model)
    assert torch.equal(reference.weight, model.weight)
    before = other.weight.clone()
    values.share_weights(reference, other)
    values.share_weights(reference, object())
    assert torch.equal(other.weight, before)
    frozen = values.frozen(torch.nn.Dropout())
    assert not frozen.training
    assert not any(p.requires_grad for p in values.frozen(reference).parameters())
    assert values.frozen(3) == 3


def test_a_reason_is_one_printable_line_whatever_was_raised() -> None:
    """Escape codes, lines, surrogates and a failing `__str__` reach no terminal and no file."""
    assert values.reason(ValueError("a\n  b\tc")) == "ValueError: a b c"
    assert values.reason(ValueError()) == "ValueError"
    assert values.reason(UnprintableError("x")) == "UnprintableError"
    assert values.reason(ValueError("\x1b[31mred\x07")) == r"ValueError: \x1b[31mred\x07"
    assert values.reason(ValueError("\ud800")) == r"ValueError: \ud800"
    named = type("\x1b[2J", (Exception,), {})
    assert values.reason(named("x")) == r"\x1b[2J: x"
    assert len(values.reason(ValueError("x" * 10**7))) <= 4000


def test_printable_text_keeps_what_can_be_read() -> None:
    """Letters of any language stay; what turns the direction of writing does not."""
    assert printable("größe 尺寸") == "größe 尺寸"
    assert printable("a\u202eb\x00") == r"a\u202eb\x00"
    assert printable("abcdef", limit=4) == "abc…"
    assert printable("abcd", limit=4) == "abcd"
    assert printable("") == ""


def test_the_place_is_the_last_line_in_the_file_itself(tmp_path: Path) -> None:
    """An error in a library is shown at the line of the file that led to it."""
    path = tmp_path / "file.py"
    path.write_text("import json\n\n\ndef f():\n    return json.loads('{')\n")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)  # noqa: S102
    with pytest.raises(ValueError, match="Expecting") as caught:
        scope["f"]()
    assert values.place_of(caught.value, path) == f"{path}:5"
    assert values.place_of(caught.value, tmp_path / "other.py") == str(tmp_path / "other.py")
    with pytest.raises(SyntaxError) as syntax:
        compile("x = 1\ny = (\n", str(path), "exec")
    assert values.place_of(syntax.value, path) == f"{path}:2"
