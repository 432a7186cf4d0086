"""What an NPU ignores: options that mean nothing to a launch, unless a mode or a kernel says so."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.config import LAUNCH_OPTIONS, Config, Value
from tuner.no_ops import counting_in, differing, essence, unknown_options, without_no_ops

ALL = {"num_warps", "num_stages", "num_ctas", "warp_size"}


def config(*, params: dict[str, Value] | None = None, **given: Any) -> Config:
    """Return a config with these options; what is no launch option is the backend's."""
    launch = {name: given.pop(name) for name in {*LAUNCH_OPTIONS} & {*given}}
    own = tuple({"BLOCK": 16, **(params or {})}.items())
    return Config(params=own, options=tuple(given.items()), **launch)


@pytest.mark.parametrize("mode", [{}, {"compile_mode": "simd"}, {"force_simt_only": False}])
def test_warps_and_stages_mean_nothing_in_simd_mode(mode: dict[str, Value]) -> None:
    """Nor do the others of SIMT mode; what the compiler reads stays."""
    one = config(num_warps=4, num_stages=2, multibuffer=True, **mode)
    assert essence(one) == essence(config(num_warps=8, warp_size=64, multibuffer=True, **mode))
    assert essence(one) == config(multibuffer=True, **mode)
    assert essence(one) != essence(config(num_warps=4, num_stages=2, multibuffer=False, **mode))
    # A launch with this one is refused: it is no option that is ignored.
    assert essence(config(maxnreg=64)) == config(maxnreg=64)


@pytest.mark.parametrize(
    "mode", [{"compile_mode": "simt_only"}, {"force_simt_only": True}, {"compile_mode": "new"}]
)
def test_they_count_in_simt_mode(mode: dict[str, Value]) -> None:
    """And in one that is not known; the mode may be a param, too."""
    for one in (config(num_warps=4, **mode), config(num_warps=4, params=mode)):
        assert essence(one) == one
    told = {"num_warps": 4, "num_stages": 1, **mode}
    assert without_no_ops(told, told) == told


def test_a_param_counts_whatever_it_is_called() -> None:
    """It is an argument of the kernel."""
    one = config(params={"warp_size": 32}, num_warps=4)
    assert essence(one) == config(params={"warp_size": 32})


@pytest.mark.parametrize(
    ("code", "counting"),
    [
        ("kernel[grid](x, **config.all_kwargs())", set()),
        ("kernel[grid](x, num_warps=config.num_warps)", set()),
        ("num_warps = config.num_warps\nkernel[grid](x, num_warps=num_warps)", set()),
        (
            "@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in W])\ndef f(): 0",
            set(),
        ),
        ("kernel[(256 // config.num_warps,)](x)", {"num_warps"}),
        ("stages = config.num_stages", {"num_stages"}),
        ("config.all_kwargs()['num_warps']", {"num_warps"}),
        ("def kernel(x, warp_size: tl.constexpr): pass", {"warp_size"}),
        ("kernel[grid](x, compile_mode='simt_only', **config.all_kwargs())", ALL),
        ("options['force_simt_only'] = True", ALL),
        ("this is no Python", ALL),
    ],
)
def test_a_kernel_that_reads_an_option_makes_it_count(code: str, counting: set[str]) -> None:
    """Handing it on to the launch is not reading it; naming the mode makes all of them count."""
    assert counting_in(code) == counting
    one = config(num_warps=4, num_stages=2)
    kept = {name: value for name, value in one.launch_options() if name in counting}
    assert essence(one, counting_in(code)) == config(**kept)


def test_how_configs_differ_is_said_by_name() -> None:
    """One that is not set differs from one that is; 1 is not true."""
    assert differing(config(num_warps=4), config(num_warps=4)) == ()
    assert differing(config(num_warps=4), config(num_stages=4)) == ("num_stages", "num_warps")
    assert differing(config(warp_size=1), config(warp_size=True)) == ("warp_size",)


def test_options_that_a_backend_does_not_know_are_named_once() -> None:
    """None are where it did not say what it knows."""
    configs = [config(multibuffer=flag, multibufer=flag, num_warps=4) for flag in (True, False)]
    assert unknown_options(configs, ("multibuffer", "num_warps")) == ("multibufer",)
    assert unknown_options(configs, ()) == ()
