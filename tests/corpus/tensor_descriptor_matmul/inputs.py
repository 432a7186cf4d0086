"""Inputs and reference of `tensor_descriptor_matmul`, whose rows are aligned to 16 bytes."""

import torch


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    shapes = ((1, 4, 4), (33, 68, 20), (64, 64, 32))
    return [[torch.randn(m, k), torch.randn(k, n)] for m, n, k in shapes]


def reference(a, b):
    return a @ b
