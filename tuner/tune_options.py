"""The options that `tuner tune` and `tuner run` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tuner.option_types import Duration, Shapes

__all__ = ["POINTS", "with_options"]

# So many shapes are drawn from ranges where nobody says how many.
POINTS = 40
_PATH = click.Path(path_type=Path)


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that `tune` and `run` share, in the order of the help."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.argument("case", type=_PATH, metavar="CASE"),
    click.option(
        "--device",
        default="cpu",
        show_default=True,
        help="cpu; cuda:0, or several as cuda:0,cuda:1; npu:0; or replay:TABLE.json, which "
        "measures nothing and answers from a recorded latency table.",
    ),
    click.option("--shapes", type=Shapes(), help='Such as "1,224,224;1,384,384".'),
    click.option(
        "--ranges",
        help='Instead of a list: shapes drawn from ranges of axes, as "M=1..8192,N=4096,'
        'K=64..8192:64", the last in multiples of 64.',
    ),
    click.option(
        "--points",
        type=click.IntRange(1, 100_000),
        help=f"How many shapes to draw from --ranges.  [default: {POINTS}]",
    ),
    click.option("--impl", type=_PATH, help="The implementation.  [default: CASE/impl.py]"),
    click.option("--space", type=_PATH, help="The search space.  [default: CASE/tune.yaml]"),
    click.option(
        "-o",
        "--output",
        type=_PATH,
        help="A directory for what is written.  [default: the implementation's]",
    ),
    click.option(
        "--kb",
        type=_PATH,
        help="The knowledge base, which keeps every measurement.  [default: kb.sqlite under "
        "$TUNED_DISPATCH_HOME or the user's data directory]",
    ),
    click.option(
        "--budget",
        type=Duration(),
        help="Begin nothing new after, say, 10m; what is being measured gets a tenth more.",
    ),
    click.option(
        "--search",
        is_flag=True,
        help="Measure some of the candidates only, chosen as results come: for large spaces.",
    ),
    click.option(
        "--trials",
        type=click.IntRange(1, 100_000),
        help="With --search, the most candidates that are measured on a shape.  [default: 64]",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        help="With --search, of what is drawn at random.  [default: 0]",
    ),
    click.option(
        "--sampler",
        type=click.Choice(["surrogate", "tpe", "evolution", "random"]),
        help="With --search, who chooses.  [default: surrogate; evolution where more than 10 "
        "params vary]",
    ),
    click.option(
        "--adaptive",
        is_flag=True,
        help="Measure all candidates on some of the shapes only, and on others those that may be "
        "best there: about a third of the measurements.",
    ),
    click.option("--fresh", is_flag=True, help="Measure again what is known; the old is archived."),
    click.option("--retry-failed", is_flag=True, help="Try again what failed before."),
    click.option(
        "--selector",
        type=click.Choice(["tree", "bucket", "constant"]),
        default="tree",
        show_default=True,
    ),
    click.option("--max-leaves", type=click.IntRange(1, 10_000), default=64, show_default=True),
    click.option("--max-depth", type=click.IntRange(1, 64), default=7, show_default=True),
    click.option(
        "--outside",
        type=click.Choice(["default", "nearest", "raise"]),
        default="default",
        show_default=True,
        help="What a shape outside the tuned range gets.",
    ),
    click.option(
        "--repeat",
        type=click.IntRange(1, 10_000),
        help="The most timed launches of a config on a shape; fewer where they agree.  "
        "[default: 64 on CUDA, else 15]",
    ),
    click.option("--warmup", type=click.IntRange(0, 1000), default=1, show_default=True),
    click.option(
        "--timeout",
        type=Duration(),
        default="60s",
        show_default=True,
        help="The longest that compiling and running a config once may take.",
    ),
    click.option(
        "--tolerance",
        type=click.FloatRange(0, 10, min_open=True),
        help="By how much an output may differ, relative.  [default: by dtype]",
    ),
    click.option("--force", is_flag=True, help="Overwrite files that are not ours."),
    click.option("-q", "--quiet", is_flag=True, help="No progress, no report; errors only."),
)
