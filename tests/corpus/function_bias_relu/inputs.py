"""Inputs and reference of `function_bias_relu`, whose entry is the function `bias_relu`."""

import torch

ENTRY = "bias_relu"


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    shapes = ((1, 1), (7, 75), (2, 4, 64))
    return [[torch.randn(shape), torch.randn(shape[-1])] for shape in shapes]


def reference(x, bias):
    return torch.relu(x + bias)
