"""Run a case's kernel in Triton's interpreter and compare it with its Model, on the CPU.

    python tests/cases/interpreted.py CASE

Prints one line of JSON a run: what was run, and what is wrong with it or null.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it when a kernel is defined.
sys.path.insert(0, str(Path(__file__).parents[2]))

from loading import CONVERTED, ORIGINAL, candidates, config_of, load, load_converted

if TYPE_CHECKING:
    import torch

# One size of 1, one odd, and one of more than a tile.
SHAPES: dict[str, tuple[tuple[int, ...], ...]] = {
    "conv2d": ((1, 1, 1), (3, 7, 13), (1, 19, 33)),
    "matmul": ((1, 1, 1), (33, 65, 17), (131, 259, 133)),
    "relu": ((1,), (777,), (20001,)),
    "rms_norm": ((1, 1), (7, 131), (17, 2049)),
    "softmax": ((1, 1), (7, 131), (65, 777)),
    "vector_add": ((1,), (777,), (20001,)),
}


def main(case: str) -> int:
    """Run the original kernel, then the converted one with three configs and with none."""
    import torch

    base = load(ORIGINAL / case / "base.py")
    every = [config_of(candidate) for candidate in candidates(ORIGINAL / case)]
    configs = (every[0], every[len(every) // 2], every[-1])
    asked: list[tuple[int, ...]] = []

    def select(shape: tuple[int, ...]) -> Any:
        asked.append(shape)
        return configs[0]

    original = load(ORIGINAL / case / "impl.py")
    converted = load_converted(CONVERTED / case / "impl.py", select)
    with torch.no_grad():
        for shape in SHAPES[case]:
            reference = base.Model(*base.get_init_inputs())
            inputs = base.get_inputs_for_shape(shape)
            expected = reference(*inputs)
            old, new = (twin(module, base, reference) for module in (original, converted))
            say(case, shape, "original", complaint(old, inputs, expected))
            for config in configs:
                wrong = complaint(partial(new, config=config), inputs, expected)
                say(case, shape, config.id, wrong)
            say(case, shape, "selected", complaint(new, inputs, expected))
    say(case, None, "asked", None if asked == [*SHAPES[case]] else f"the dispatch for {asked}")
    return 0


def twin(module: Any, base: Any, reference: torch.nn.Module) -> torch.nn.Module:
    """Return a `ModelNew` with the weights of `reference`, in the layout they have there."""
    model: torch.nn.Module = module.ModelNew(*base.get_init_inputs())
    model.load_state_dict(reference.state_dict())
    layouts = [
        [(name, value.stride()) for name, value in each.named_parameters()]
        for each in (model, reference)
    ]
    assert layouts[0] == layouts[1], layouts
    return model


def complaint(
    forward: Callable[..., Any], inputs: Sequence[torch.Tensor], expected: torch.Tensor
) -> str | None:
    """Return what is wrong with what `forward` computes, in words."""
    import torch

    before = [value.clone() for value in inputs]
    try:
        with poisoned_memory():
            actual = forward(*inputs)
        # Two roundings of fp16, or a thousandth of the largest element.
        atol = 1e-3 * float(expected.abs().max())
        torch.testing.assert_close(actual, expected, rtol=1e-3, atol=atol)
        torch.testing.assert_close([*inputs], before, rtol=0, atol=0)
    except Exception as error:  # noqa: BLE001 (the other configs are still to be tried)
        return f"{type(error).__name__}: {error}"
    return None


@contextmanager
def poisoned_memory() -> Iterator[None]:
    """Let `torch.empty` give NaN, so that an element that no program writes shows."""
    import torch

    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(1).isnan().all(), "torch.empty is not poisoned: the test proves nothing"
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def say(case: str, shape: tuple[int, ...] | None, what: str, wrong: str | None) -> None:
    """Print one line of JSON."""
    print(json.dumps({"case": case, "shape": shape, "what": what, "wrong": wrong}), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
