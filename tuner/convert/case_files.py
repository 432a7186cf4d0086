"""The text of a new case's files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import libcst as cst

from tuner.convert.kernels import signature
from tuner.convert.source import Source
from tuner.convert.template import wrapper

__all__ = ["sample_text", "skeleton", "with_model"]

_BASE = '''"""The reference of `{kernel}`, and its inputs. To be filled in; then: tuner tune."""

from typing import Any


class Model:
    """Computes what the kernel should, in plain torch."""

    def forward(self, {inputs}) -> Any:
        """The right output."""
        raise NotImplementedError("write the reference of {kernel}")


def get_init_inputs() -> list[Any]:
    """The arguments of `Model` and `ModelNew`."""
    return []


def get_inputs_dyn_list() -> list[list[Any]]:
    """Inputs for each shape to be tuned: [{inputs}]."""
    raise NotImplementedError("list the inputs of each shape")
'''


def with_model(source: Source, entry: cst.FunctionDef, text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text with a `ModelNew`, and the inputs of that."""
    names = [param.name for param in signature(entry)]
    if source.owner(entry) is not None:
        return text, tuple(names[1:])
    params = entry.params
    keyword = {param.name.value for param in params.kwonly_params}
    parts, arguments = [], []
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        name = param.name.value
        if name in keyword and "*" not in parts:
            parts.append("*")
        default = source.module.code_for_node(param.default) if param.default else None
        parts.append(f"{name}={default}" if default else name)
        arguments.append(f"{name}={name}" if name in keyword else name)
    model = wrapper(entry.name.value, ", ".join(parts), ", ".join(arguments))
    newline = source.module.default_newline
    end = "" if text.endswith(("\n", "\r")) else newline
    return text + end + (f"\n\n{model}").replace("\n", newline), tuple(names)


def sample_text(
    kernel: str,
    shape: str,
    params: Sequence[str],
    key: Sequence[str],
    entries: Sequence[Mapping[str, Any]],
) -> str:
    """Return sample.json, a config a line."""
    configs = ",\n".join(f"      {json.dumps(entry)}" for entry in entries)
    return (
        f'{{\n  "op_name": {json.dumps(kernel)},\n'
        f'  "shape_expr": {json.dumps(shape)},\n'
        f'  "config_param_names": {json.dumps([*params])},\n'
        f'  "autotune": {{\n    "key": {json.dumps([*key])},\n'
        f'    "configs": [\n{configs}\n    ]\n  }}\n}}\n'
    )


def skeleton(kernel: str, inputs: Sequence[str]) -> bytes:
    """Return a base.py to be filled in."""
    return _BASE.format(kernel=kernel, inputs=", ".join(inputs)).encode()
