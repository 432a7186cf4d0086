"""Inputs and reference of `histogram`."""

import torch


def get_init_inputs() -> list:
    return [256]


def get_inputs() -> list:
    torch.manual_seed(0)
    return [[torch.randint(0, 256, (n,), dtype=torch.int32)] for n in (1, 300, 1024)]


def reference(x):
    return torch.bincount(x, minlength=256).to(torch.int32)
