"""Inputs and reference of `conv2d_direct`."""

import torch


def get_init_inputs() -> list:
    return [2, 3, 3]


def get_inputs() -> list:
    torch.manual_seed(0)
    shapes = ((1, 2, 3, 3), (2, 2, 4, 6), (1, 2, 3, 36))
    return [[torch.randn(shape)] for shape in shapes]


def reference(x):
    weight = torch.linspace(-1, 1, 3 * 2 * 3 * 3).reshape(3, 2, 3, 3)
    return torch.nn.functional.conv2d(x, weight)
