"""Inputs and reference of `two_kernels`."""

import torch


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    return [[torch.randn(r, c)] for r, c in ((1, 3), (5, 257), (4, 512))]


def reference(x):
    return torch.nn.functional.layer_norm(x, (x.shape[1],), eps=1e-5)
