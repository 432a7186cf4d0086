"""The options of a launch, some of them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NPUOptions"]


@dataclass(frozen=True)
class NPUOptions:
    """As triton-ascend 3.2.0 has them."""

    num_warps: int = 4
    num_stages: int = 1
    num_ctas: int = 1
    warp_size: int = 32
    multibuffer: bool = True
    force_simt_only: bool = False
    compile_mode: str = "simd"
