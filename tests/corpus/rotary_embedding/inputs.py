"""Inputs and reference of `rotary_embedding`."""

import torch


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    found = []
    for batch, seq, dim in ((1, 1, 2), (2, 17, 12), (1, 32, 16)):
        angle = torch.rand(seq, dim // 2)
        found.append([torch.randn(batch, seq, dim), angle.cos(), angle.sin()])
    return found


def reference(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
