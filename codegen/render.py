"""Typed values → the text of a module, through the templates."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import jinja2

from codegen.axes import Axis, CategoryAxis, IntegerAxis
from codegen.config import Config, Value
from codegen.errors import InternalError
from codegen.header import envelope_text, header_lines
from codegen.literals import literal
from codegen.manifest import Manifest, digest
from codegen.plan import Program
from codegen.policy import Policy

__all__ = ["render"]

_PIECE = 70


def render(
    manifest: Manifest, policy: Policy, program: Program, *, manifest_file: str, output: str | None
) -> str:
    """Return the text of the module for `program`, not formatted yet."""
    source, target = manifest.kernel.source, manifest.target
    toolchain = ", ".join(f"{k} {v}" for k, v in sorted(target.toolchain.items()))
    facts = {"device": target.device, "arch": target.arch, "toolchain": toolchain}
    configs = [config for _, config in program.configs]
    return (
        _environment()
        .get_template("dispatch.py.j2")
        .render(
            header=header_lines(
                manifest, policy, program, manifest_file=manifest_file, output=output
            ),
            axis_names=_tuple(literal(axis.name) for axis in policy.axes),
            source_sha256=literal(source.sha256) if source else None,
            manifest_sha256=literal(digest(manifest)),
            target=[(literal(key), literal(value)) for key, value in facts.items() if value],
            param_type=_type(value for c in configs for _, value in c.params),
            launch_type=_type(value for c in configs for _, value in _launch(c)),
            kwarg_type=_type(value for c in configs for value in c.all_kwargs().values()),
            configs=[(n, _dict(c.params), _dict(_launch(c))) for n, c in program.configs],
            default=program.default,
            shape_type=_shape_type(policy.axes),
            shape_text=_tuple(axis.name for axis in policy.axes),
            unpack=_unpacked(program.locals),
            body=program.body,
            raises=program.raises,
            refuses=program.refuses,
            grid_limit=literal(policy.grid.limit) if policy.grid else None,
            autotune_sizes=_autotune_sizes(policy.axes),
            envelope=[literal(line) for line in _lines(envelope_text(policy.axes))],
        )
    )


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_templates()),
        autoescape=False,  # noqa: S701 (Python is written, not HTML; literals.py escapes)
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _templates() -> Path:
    """Return the templates' directory: in the package once installed, beside it in a checkout."""
    here = Path(__file__).parent
    for directory in (here / "_templates", here.parent / "templates"):
        if (directory / "dispatch.py.j2").is_file():
            return directory
    raise InternalError("the templates are not installed beside codegen")


def _lines(text: str) -> list[str]:
    """Cut `text` into pieces that fit on a line each, and together are `text`."""
    return [text[i : i + _PIECE] for i in range(0, len(text), _PIECE)]


def _tuple(items: Iterable[str]) -> str:
    texts = list(items)
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _unpacked(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) > 1 else f"({names[0]},)"


def _autotune_sizes(axes: tuple[Axis, ...]) -> str | None:
    """Return how a shape is made of a kernel's arguments; None if an axis is none of them."""
    if not all(isinstance(axis, IntegerAxis) for axis in axes):
        return None
    return _tuple(f"sizes[{literal(axis.name)}]" for axis in axes)


def _dict(pairs: Iterable[tuple[str, Value]]) -> str:
    return f"{{{', '.join(f'{literal(key)}: {literal(value)}' for key, value in pairs)}}}"


def _launch(config: Config) -> tuple[tuple[str, Value], ...]:
    return config.launch_options() + config.options


def _type(values: Iterable[Value]) -> str:
    """Return the annotation that holds all `values`; mypy wants one where there are none, too."""
    found = {type(value).__name__ for value in values} or {"int"}
    names = [name for name in ("bool", "int", "float", "str") if name in found]
    return " | ".join(names + (["None"] if "NoneType" in found else []))


def _shape_type(axes: tuple[Axis, ...]) -> str:
    """Return the shape's annotation: `torch.Size` fits the first form, which knows no length."""
    if all(isinstance(axis, IntegerAxis) for axis in axes):
        return "tuple[int, ...]"
    return f"tuple[{', '.join(_axis_type(axis) for axis in axes)}]"


def _axis_type(axis: Axis) -> str:
    return _type(axis.values) if isinstance(axis, CategoryAxis) else "int"
