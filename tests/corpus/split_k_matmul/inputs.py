"""Inputs and reference of `split_k_matmul`."""

import torch


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    shapes = ((1, 1, 300), (17, 33, 129), (16, 32, 256))
    return [[torch.randn(m, k), torch.randn(k, n)] for m, n, k in shapes]


def reference(a, b):
    return a @ b
