import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def conv2d_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    C_IN, H, W, C_OUT, H_OUT, W_OUT,
    KH: tl.constexpr, KW: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    col = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)
    row = tl.program_id(1)
    image_and_channel = tl.program_id(2)
    image = image_and_channel // C_OUT
    out_channel = image_and_channel % C_OUT
    acc = tl.zeros((BLOCK_W,), dtype=tl.float32) + tl.load(b_ptr + out_channel)
    for c in range(0, C_IN):
        for kh in range(KH):
            for kw in range(KW):
                x = tl.load(x_ptr + ((image * C_IN + c) * H + row + kh) * W + col + kw,
                            mask=col + kw < W, other=0.0)
                w = tl.load(w_ptr + ((out_channel * C_IN + c) * KH + kh) * KW + kw)
                acc += x * w
    tl.store(y_ptr + ((image * C_OUT + out_channel) * H_OUT + row) * W_OUT + col, acc, mask=col < W_OUT)


class ModelNew(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, kernel_size: int):
        super(ModelNew, self).__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)
        with torch.no_grad():
            self.conv.weight.copy_(torch.linspace(-1, 1, self.conv.weight.numel()).view_as(self.conv.weight))
            self.conv.bias.zero_()

    def forward(self, x):
        w, b = self.conv.weight, self.conv.bias
        n, c_in, h, width = x.shape
        c_out, _, kh, kw = w.shape
        h_out, w_out = h - kh + 1, width - kw + 1
        y = torch.empty((n, c_out, h_out, w_out), device=x.device, dtype=x.dtype)
        BLOCK_W = 32
        conv2d_kernel[(triton.cdiv(w_out, BLOCK_W), h_out, n * c_out)](
            x, w, b, y, c_in, h, width, c_out, h_out, w_out,
            KH=kh, KW=kw,
            BLOCK_W=BLOCK_W,
        )
        return y
