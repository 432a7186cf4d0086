"""Inputs and reference of `silu_nested`."""

import torch


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    return [[torch.randn(n)] for n in (1, 513, 1024)]


def reference(x):
    return torch.nn.functional.silu(x)
