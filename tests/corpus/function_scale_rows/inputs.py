"""Inputs and reference of `function_scale_rows`, whose entry is the function `scale_rows`."""

import torch

ENTRY = "scale_rows"


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    return [[torch.randn(r, c), torch.randn(r)] for r, c in ((1, 1), (7, 131), (8, 128))]


def reference(x, s):
    return x * s[:, None]
