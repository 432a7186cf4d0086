"""The gate with the targets' real compilers: what they refuse is refused for the right memory.

Needs no device. Ascend's compiler comes by `make toolchain`; for NVIDIA triton is enough.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tuner.cases import load_case
from tuner.errors import ToolchainError
from tuner.gate import Gated, GateRequest, gate_case
from tuner.overflow import Overflow
from tuner.progress import Quiet
from tuner.records import Shape
from tuner.toolchains.environment import find_toolchain
from tuner.toolchains.targets import TARGETS

CASES = Path(__file__).parents[1] / "cases"


def lack_of(target: str) -> str | None:
    """Say what the target's compiler lacks here, None if it is there."""
    if target == "sm_90" and importlib.util.find_spec("triton") is None:
        return "needs triton: pip install -e '.[torch]'"
    try:
        find_toolchain(TARGETS[target].toolchain)
    except ToolchainError as error:
        return f"needs a toolchain: {error}"
    return None


def needing(target: str) -> pytest.MarkDecorator:
    """Skip a test, and say so, where there is no compiler for `target`."""
    lack = lack_of(target)
    return pytest.mark.skipif(lack is not None, reason=lack or "")


def gated(
    tmp_path: Path, kernel: str, target: str, space: dict[str, list[int]], shapes: tuple[Shape, ...]
) -> Gated:
    """Gate a case with all combinations of `space`."""
    file = tmp_path / "space.yaml"
    lines = [f"  {name}: {values}\n" for name, values in space.items()]
    file.write_text("parameters:\n" + "".join(lines))
    impl = CASES / "converted" / kernel / "impl.py"
    case = load_case(CASES / "original" / kernel, impl=impl, space=file)
    request = GateRequest(
        case=case, target=TARGETS[target], kb=tmp_path / "kb.sqlite", shapes=shapes
    )
    return gate_case(request, Quiet())


def fates(found: Gated) -> dict[tuple[object, ...], str]:
    """Return of each config, by its values in the order of their names, `kept` or the memory."""
    words = {}
    for config in found.configs:
        verdicts = [*found.of(config).values()]
        overflows = [Overflow.of(verdict.failure) for verdict in verdicts]
        memory = {one.memory for one in overflows if one}
        kept = all(verdict.kept for verdict in verdicts)
        words[tuple(dict(sorted(config.kwargs.items())).values())] = (
            "kept" if kept else ", ".join(sorted(memory)) or str(verdicts[0].failure)
        )
    return words


ON_ASCEND = {
    # The largest block that fits, and the next power of two, which does not: three of each kind.
    "relu": ({"BLOCK_SIZE": [16384, 32768]}, ((1000,),), {(16384,): "kept", (32768,): "ub"}),
    "vector_add": ({"BLOCK_SIZE": [16384, 32768]}, ((1000,),), {(16384,): "kept", (32768,): "ub"}),
    "softmax": (
        {"BLOCK_R": [4], "BLOCK_C": [4096, 8192]},
        ((64, 2048),),
        {(4096, 4): "kept", (8192, 4): "ub"},
    ),
    "rms_norm": (
        {"BLOCK_R": [4], "BLOCK_C": [4096, 8192]},
        ((64, 2048),),
        {(4096, 4): "kept", (8192, 4): "ub"},
    ),
    "matmul": (
        {"BLOCK_M": [128, 256], "BLOCK_N": [256], "BLOCK_K": [64], "GROUP_M": [8]},
        ((512, 512, 512),),
        {(64, 128, 256, 8): "kept", (64, 256, 256, 8): "cc"},
    ),
    "conv2d": (
        {"BLOCK_M": [64], "BLOCK_N": [64, 128], "BLOCK_K": [64]},
        ((1, 32, 32),),
        {(64, 64, 64): "kept", (64, 64, 128): "ub"},
    ),
}


@needing("ascend910b3")
@pytest.mark.parametrize("kernel", sorted(ON_ASCEND))
def test_ascends_compiler_refuses_what_does_not_fit_and_keeps_its_neighbour(
    kernel: str, tmp_path: Path
) -> None:
    """By the memory that is too small: the unified buffer, or L0C for a matrix product."""
    space, shapes, expected = ON_ASCEND[kernel]
    found = gated(tmp_path, kernel, "ascend910b3", space, shapes)
    assert fates(found) == expected


@needing("ascend910b3")
def test_the_compilers_own_words_are_kept_with_the_numbers(tmp_path: Path) -> None:
    """192 KiB of unified buffer are 1572864 bits; a block of 32768 needs more."""
    found = gated(tmp_path, "relu", "ascend910b3", {"BLOCK_SIZE": [32768]}, ((1000,),))
    (verdict,) = found.verdicts.values()
    overflow = Overflow.of(verdict.failure)
    assert overflow
    assert (overflow.memory, overflow.available, overflow.unit) == ("ub", 1572864, "bits")
    assert overflow.needed > overflow.available
    assert verdict.failure
    words = f"ub overflow, requires {overflow.needed} bits while 1572864 bits available!"
    assert words in verdict.failure.message


@needing("ascend910b3")
def test_blocks_of_a_product_that_do_not_fit_side_by_side_overflow_l1(tmp_path: Path) -> None:
    """512 KiB of L1 hold 64 x 2048 and 2048 x 64 in fp16, to the last bit, and no more."""
    space = {"BLOCK_M": [64], "BLOCK_N": [64], "BLOCK_K": [2048, 4096], "GROUP_M": [8]}
    found = gated(tmp_path, "matmul", "ascend910b3", space, ((4096, 4096, 4096),))
    assert fates(found) == {(2048, 64, 64, 8): "kept", (4096, 64, 64, 8): "cbuf"}
    (verdict,) = [verdict for verdict in found.verdicts.values() if not verdict.kept]
    overflow = Overflow.of(verdict.failure)
    assert overflow
    assert (overflow.needed, overflow.available) == (2 * 64 * 4096 * 16, 512 * 1024 * 8)


@needing("ascend910b3")
def test_a_build_with_single_buffers_is_noted(tmp_path: Path) -> None:
    """The compiler gives up double buffers without being asked, and only prints that it did."""
    space = {"BLOCK_R": [4], "BLOCK_C": [1024, 4096]}
    found = gated(tmp_path, "softmax", "ascend910b3", space, ((64, 2048),))
    notes = {c.param("BLOCK_C"): next(iter(found.of(c).values())).note for c in found.configs}
    assert notes[1024] is None
    assert notes[4096]
    assert "enable-auto-multi-buffer to false" in notes[4096]


ON_HOPPER = {
    "relu": ({"BLOCK_SIZE": [1024]}, ((1000,),)),
    "vector_add": ({"BLOCK_SIZE": [1024]}, ((1000,),)),
    "softmax": ({"BLOCK_R": [4], "BLOCK_C": [1024]}, ((64, 2048),)),
    "rms_norm": ({"BLOCK_R": [4], "BLOCK_C": [1024]}, ((64, 2048),)),
    "conv2d": ({"BLOCK_M": [64], "BLOCK_N": [64], "BLOCK_K": [32]}, ((1, 32, 32),)),
}


@needing("sm_90")
@pytest.mark.parametrize("kernel", sorted(ON_HOPPER))
def test_a_case_compiles_for_hopper_without_one(kernel: str, tmp_path: Path) -> None:
    """To the binary, by triton and the ptxas that it brings."""
    space, shapes = ON_HOPPER[kernel]
    assert {*fates(gated(tmp_path, kernel, "sm_90", space, shapes)).values()} == {"kept"}


@needing("sm_90")
def test_hopper_refuses_the_config_that_an_h200_had_no_shared_memory_for(tmp_path: Path) -> None:
    """It is the one that tests/data/h200_matmul.json has as rejected; its neighbour ran there."""
    space = {
        "BLOCK_M": [256],
        "BLOCK_N": [256],
        "BLOCK_K": [64, 128],
        "GROUP_M": [8],
        "num_warps": [8],
        "num_stages": [3],
    }
    found = gated(tmp_path, "matmul", "sm_90", space, ((512, 512, 512),))
    assert fates(found) == {(64, 256, 256, 8): "kept", (128, 256, 256, 8): "shared"}
