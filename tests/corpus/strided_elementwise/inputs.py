"""Inputs and reference of `strided_elementwise`."""

import torch


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    return [[torch.randn(1, 1)], [torch.randn(65, 9).t()], [torch.randn(8, 64), 3.0, -1.0]]


def reference(x, alpha=2.0, beta=1.0):
    return x * alpha + beta
