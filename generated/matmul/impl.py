"""Matrix product A (M, K) @ B (K, N), both row-major: fp16 in and out, summed in fp32."""

import torch
import triton
import triton.language as tl


# M's divisibility changes no load: not specialising on it saves a compile per new batch size.
@triton.jit(do_not_specialize=["M"])
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
) -> None:
    """Compute one BLOCK_M x BLOCK_N tile of C."""
    # Programs next to each other fill a band of GROUP_M tile rows column by column,
    # so that the tiles of A and B they share are still in L2.
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    band_tiles = GROUP_M * tiles_n
    band_top = pid // band_tiles * GROUP_M
    band_height = tl.minimum(tiles_m - band_top, GROUP_M)
    in_band = pid % band_tiles
    rows = (band_top + in_band % band_height) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = in_band // band_height * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)

    # Row offsets are 64-bit: a matrix may hold more than 2^31 elements.
    a_ptrs = a_ptr + rows[:, None].to(tl.int64) * K + inner[None, :]
    b_ptrs = b_ptr + inner[:, None].to(tl.int64) * N + cols[None, :]
    b_step = tl.full((), BLOCK_K, tl.int64) * N

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        left = K - start
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (inner[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(inner[:, None] < left) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K
        b_ptrs += b_step

    c_ptrs = c_ptr + rows[:, None].to(tl.int64) * N + cols[None, :]
    in_c = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=in_c)


def _tuned_dispatch():
    """Load impl_dispatch.py, which `codegen emit manifest.json` writes beside this file.

    A warning says so if it was tuned for other code, where tuned-dispatch is installed to tell.
    TUNED_DISPATCH=strict raises instead, TUNED_DISPATCH=off does not ask.
    """
    import importlib.util
    import os
    import sys

    source = globals().get("__file__", "")
    path = os.path.join(os.path.dirname(source), "impl_dispatch.py")
    if __package__:
        from . import impl_dispatch as dispatch
    elif os.path.exists(path):  # A loose file, which may have been loaded by its path alone.
        spec = importlib.util.spec_from_file_location(f"{__name__}_dispatch", path)
        dispatch = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(dispatch)
        sys.modules[spec.name] = dispatch
    else:
        import impl_dispatch as dispatch
    mode = os.environ.get("TUNED_DISPATCH", "")
    if mode != "off":
        try:
            from codegen.beside import check_source
        except ImportError as error:
            if mode == "strict":
                raise RuntimeError("TUNED_DISPATCH=strict needs tuned-dispatch") from error
        else:
            check_source(source, getattr(dispatch, "SOURCE_SHA256", None), mode)
    return dispatch


try:
    _select_config = _tuned_dispatch()._select_config
except ImportError:

    def _select_config(shape):
        """Raise: there was no dispatch to choose the config for `shape` when this was imported."""
        message = "no impl_dispatch.py beside this file: `codegen emit manifest.json` writes it"
        raise ModuleNotFoundError(message)


class ModelNew(torch.nn.Module):
    """`a @ b` for two fp16 matrices."""

    def forward(self, a: torch.Tensor, b: torch.Tensor, config=None) -> torch.Tensor:
        """The product."""
        if config is None:
            config = _select_config((a.shape[0], b.shape[1], a.shape[1]))
        BLOCK_M = config.param("BLOCK_M")
        BLOCK_N = config.param("BLOCK_N")
        BLOCK_K = config.param("BLOCK_K")
        GROUP_M = config.param("GROUP_M")
        M, K = a.shape
        N = b.shape[1]
        if b.shape[0] != K:
            raise ValueError(f"a has {K} columns and b has {b.shape[0]} rows: make them equal")
        a, b = a.contiguous(), b.contiguous()
        c = torch.empty((M, N), dtype=a.dtype, device=a.device)
        grid = (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)
        matmul_kernel[grid](
            a,
            b,
            c,
            M,
            N,
            K,
            BLOCK_M=BLOCK_M,
            BLOCK_N=BLOCK_N,
            BLOCK_K=BLOCK_K,
            GROUP_M=GROUP_M,
            num_warps=config.num_warps,
            num_stages=config.num_stages,
        )
        return c
