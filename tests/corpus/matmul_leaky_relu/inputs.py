"""Inputs and reference of `matmul_leaky_relu`."""

import torch


def get_init_inputs() -> list:
    return ["leaky_relu"]


def get_inputs() -> list:
    torch.manual_seed(0)
    shapes = ((3, 5, 7), (33, 65, 40), (64, 64, 32))
    return [[torch.randn(m, k), torch.randn(k, n)] for m, n, k in shapes]


def reference(a, b):
    return torch.nn.functional.leaky_relu(a @ b, 0.01)
