"""Inputs and reference of `function_add`, whose entry is the function `add`."""

import torch

ENTRY = "add"


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    return [[torch.randn(n), torch.randn(n)] for n in (1, 1025, 2048)]


def reference(x, y):
    return x + y
