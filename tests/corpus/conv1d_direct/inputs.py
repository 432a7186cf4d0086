"""Inputs and reference of `conv1d_direct`."""

import torch


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    return [[torch.randn(c, n), torch.randn(c, 3)] for c, n in ((1, 3), (3, 67), (2, 130))]


def reference(x, weight):
    return torch.nn.functional.conv1d(x[None], weight[:, None], groups=len(x))[0]
