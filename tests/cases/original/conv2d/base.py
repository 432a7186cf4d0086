"""Stride-1 convolution with same padding of fp16 images, in torch."""

from typing import Any

import torch

IN_CHANNELS = OUT_CHANNELS = 64
KERNEL_SIZE = 3
SHAPES = (  # (N, H, W)
    (1, 17, 16),
    (2, 51, 51),
    (8, 20, 26),
    (1, 131, 97),
    (4, 112, 112),
    (1, 224, 224),
    (1, 384, 384),
    (2, 299, 225),
)


class Model(torch.nn.Module):
    """`conv2d(x, weight, padding=kernel_size // 2)` for images (N, in_channels, H, W)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        weight = torch.empty(
            (out_channels, in_channels, kernel_size, kernel_size),
            dtype=torch.float16,
            memory_format=torch.channels_last,
        )
        fan_in = in_channels * kernel_size * kernel_size
        self.weight = torch.nn.Parameter(weight.normal_(std=fan_in**-0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The convolved images (N, out_channels, H, W), computed in fp32."""
        padding = self.weight.shape[-1] // 2
        # TF32, cuDNN's default, would round the inputs to 10 bits.
        with torch.backends.cudnn.flags(allow_tf32=False):
            y = torch.nn.functional.conv2d(x.float(), self.weight.float(), padding=padding)
        return y.to(x.dtype)


def get_init_inputs() -> list[Any]:
    """The arguments of `Model` and `ModelNew`."""
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_SIZE]


def get_inputs_for_shape(shape: tuple[int, ...]) -> list[torch.Tensor]:
    """New random inputs for `shape`, which is (N, H, W), on torch's default device."""
    N, H, W = shape
    x = torch.randn(N, IN_CHANNELS, H, W, dtype=torch.float16)
    return [x.contiguous(memory_format=torch.channels_last)]


def get_inputs_dyn_list() -> list[list[torch.Tensor]]:
    """Inputs for each of `SHAPES`."""
    return [get_inputs_for_shape(shape) for shape in SHAPES]
