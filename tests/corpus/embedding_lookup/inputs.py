"""Inputs and reference of `embedding_lookup`."""

import torch


def get_init_inputs() -> list:
    return [50, 33]


def get_inputs() -> list:
    torch.manual_seed(0)
    return [[torch.randint(0, 50, (n,))] for n in (1, 7, 24)]


def reference(idx):
    return torch.arange(50 * 33, dtype=torch.float32).reshape(50, 33)[idx]
