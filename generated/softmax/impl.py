"""Softmax over the rows of a matrix (R, C): fp16 in and out, computed in fp32 in two passes."""

import torch
import triton
import triton.language as tl


# R's divisibility changes no load: not specialising on it saves a compile per new batch size.
@triton.jit(do_not_specialize=["R"])
def softmax_kernel(
    x_ptr,
    y_ptr,
    R,
    C,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
) -> None:
    """Normalise BLOCK_R rows, BLOCK_C columns at a time."""
    rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)[:, None]
    cols = tl.arange(0, BLOCK_C)[None, :]
    # Row offsets are 64-bit: a matrix may hold more than 2^31 elements.
    x_rows = x_ptr + rows.to(tl.int64) * C
    y_rows = y_ptr + rows.to(tl.int64) * C

    # First pass: the row's maximum, and the sum of exponentials relative to it.
    row_max = tl.full((BLOCK_R, 1), float("-inf"), tl.float32)
    row_sum = tl.zeros((BLOCK_R, 1), tl.float32)
    for start in range(0, C, BLOCK_C):
        inside = (rows < R) & (start + cols < C)
        x = tl.load(x_rows + start + cols, mask=inside, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(row_max, tl.max(x, axis=1, keep_dims=True))
        # As long as a row has shown only -inf, subtract 0: -inf - -inf would be NaN.
        shift = tl.where(new_max == float("-inf"), 0.0, new_max)
        row_sum *= tl.exp(row_max - shift)
        row_sum += tl.sum(tl.exp(x - shift), axis=1, keep_dims=True)
        row_max = new_max

    # Second pass: the same tiles again, now mostly from L2.
    for start in range(0, C, BLOCK_C):
        inside = (rows < R) & (start + cols < C)
        x = tl.load(x_rows + start + cols, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - row_max) / row_sum
        tl.store(y_rows + start + cols, y.to(y_ptr.dtype.element_ty), mask=inside)


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
    """`torch.softmax(x, dim=1)` for an fp16 matrix."""

    def forward(self, x: torch.Tensor, config=None) -> torch.Tensor:
        """The softmax of each row."""
        if config is None:
            config = _select_config(x.shape)
        BLOCK_R, BLOCK_C = config.param("BLOCK_R"), config.param("BLOCK_C")
        R, C = x.shape
        x = x.contiguous()
        y = torch.empty_like(x)
        grid = (triton.cdiv(R, BLOCK_R),)
        softmax_kernel[grid](
            x, y, R, C, BLOCK_R=BLOCK_R, BLOCK_C=BLOCK_C, num_warps=config.num_warps
        )
        return y
