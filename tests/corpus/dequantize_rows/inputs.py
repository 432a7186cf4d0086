"""Inputs and reference of `dequantize_rows`."""

import torch


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    shapes = ((1, 1), (5, 257), (2, 512))
    return [[torch.randint(-127, 128, (r, c), dtype=torch.int8), torch.rand(r)] for r, c in shapes]


def reference(q, scale):
    return (q.float() * scale[:, None]).half()
