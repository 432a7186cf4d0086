"""Inputs and reference of `gelu`."""

import torch


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    return [[torch.randn(n)] for n in (1, 1023, 3000)]


def reference(x):
    return torch.nn.functional.gelu(x, approximate="tanh")
