"""Inputs and reference of `grouped_gemm`."""

import torch


def get_init_inputs() -> list:
    return []


def get_inputs() -> list:
    torch.manual_seed(0)
    found = []
    for rows, n, k in (((3,), 5, 7), ((17, 1, 40), 33, 20), ((32, 32), 64, 32)):
        starts = torch.tensor([0, *rows]).cumsum(0).to(torch.int32)
        found.append([torch.randn(sum(rows), k), torch.randn(len(rows), k, n), starts])
    return found


def reference(a, b, starts):
    bounds = starts.tolist()
    parts = [a[bounds[g] : bounds[g + 1]] @ b[g] for g in range(len(b))]
    return torch.cat(parts)
