"""Inputs and reference of `low_memory_dropout`."""

import torch


def get_init_inputs() -> list:
    return [0.5]


def get_inputs() -> list:
    torch.manual_seed(0)
    return [[torch.randn(n), (torch.rand(n) > 0.5).to(torch.int32)] for n in (1, 10, 1025)]


def reference(x, x_keep):
    return torch.where(x_keep.bool(), x / 0.5, 0.0)
