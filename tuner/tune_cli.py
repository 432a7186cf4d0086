"""The commands `tuner tune` and `tuner run`: parse, call one function, print."""

from __future__ import annotations

import contextlib
import shlex
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from codegen.command import Command, say
from tuner.option_types import Duration, Shapes

if TYPE_CHECKING:
    from tuner.cases import Case
    from tuner.errors import TuneError
    from tuner.progress import Reporter
    from tuner.records import Shape
    from tuner.search.asking import Search
    from tuner.tune import CaseRequest

__all__ = ["run", "tune"]

_PATH = click.Path(path_type=Path)
_INTERRUPTED = 130
_POINTS = 40
# Ctrl-C, what a scheduler sends, and what comes when the terminal is closed.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
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
        help=f"How many shapes to draw from --ranges.  [default: {_POINTS}]",
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
        default=15,
        show_default=True,
        help="The most timed launches of a config on a shape; fewer where 5 agree.",
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


@click.command(cls=Command)
@_options
def tune(case: Path, **options: Any) -> int:
    """Tune CASE on a device and write its manifest.

    CASE is a directory with base.py (the reference and the inputs), impl.py (the kernel) and
    sample.json (the candidates). Each candidate is compiled and checked on a few shapes, then
    timed on all; what is measured is kept at once, so that a run that is cut short goes on where
    it was when the command is given again.
    """
    request = _request(case, **options)
    from tuner.tune import tune_case  # noqa: PLC0415 (`--help` need not wait)

    with _kept(request, quiet=options["quiet"]) as reporter:
        outcome = tune_case(request, reporter)
        reporter.close()
        if not options["quiet"]:
            for line in outcome.lines():
                say(line)
            for path, changed in outcome.files():
                say(f"{path}: {'written' if changed else 'unchanged'}")
            say(f"next: codegen emit {shlex.quote(str(outcome.manifest_path))}")
        if outcome.measured.unfinished:
            say(
                f"warning: {outcome.measured.unfinished} of {len(outcome.measured.works)} shapes "
                "are unfinished, and the manifest goes by what there is; run the same command "
                "again to go on",
                err=True,
            )
        return 0
    return _INTERRUPTED


@click.command(cls=Command)
@_options
def run(case: Path, **options: Any) -> int:
    """Tune CASE, emit its dispatch, check it, time it, and report.

    Besides what `tuner tune` writes, DIR gets the emitted module, summary.json and report.md: the
    outputs of ModelNew with the dispatch against the reference, on tuned shapes and on others,
    and the time of each against the default config and the best one.
    """
    request = _request(case, **options)
    from tuner.cases.run import run_request  # noqa: PLC0415

    with _kept(request, quiet=options["quiet"]) as reporter:
        report = run_request(request, reporter)
        reporter.close()
        if not options["quiet"]:
            say(report.text)
            for path in report.written:
                say(f"{path}: written")
        return 0 if report.right else 1
    return _INTERRUPTED


def _request(case: Path, **options: Any) -> CaseRequest:
    from tuner.needs import need  # noqa: PLC0415

    search = _search(**options)
    need("numpy", "yaml", *(["optuna"] if search and not search.adaptive else []))
    from tuner.cases import load_case  # noqa: PLC0415
    from tuner.devices.names import parse_devices  # noqa: PLC0415
    from tuner.home import knowledge_base, replays  # noqa: PLC0415
    from tuner.outcome import Delivery  # noqa: PLC0415
    from tuner.tune import CaseRequest  # noqa: PLC0415
    from tuner.worker.messages import Limits  # noqa: PLC0415

    devices = parse_devices(options["device"])
    loaded = load_case(case, impl=options["impl"], space=options["space"])
    return CaseRequest(
        case=loaded,
        devices=devices,
        # What is replayed was not measured, and is kept apart from what was.
        kb=options["kb"] or (replays() if devices[0].kind == "replay" else knowledge_base()),
        delivery=Delivery(
            directory=options["output"] or loaded.impl.parent,
            source=loaded.impl,
            selector=options["selector"],
            max_leaves=options["max_leaves"],
            max_depth=options["max_depth"],
            outside=options["outside"],
            force=options["force"],
        ),
        limits=Limits(
            timeout_s=options["timeout"],
            warmup=options["warmup"],
            repeat=options["repeat"],
            tolerance=options["tolerance"],
        ),
        shapes=_shapes(loaded, options["shapes"], options["ranges"], options["points"]),
        budget_s=options["budget"],
        fresh=options["fresh"],
        retry_failed=options["retry_failed"],
        search=search,
    )


def _shapes(
    case: Case, shapes: tuple[Shape, ...] | None, ranges: str | None, points: int | None
) -> tuple[Shape, ...] | None:
    """Return the shapes that the command line names or has drawn, None for the case's own."""
    if ranges is None:
        if points is not None:
            raise click.UsageError("--points is for --ranges; give both, or neither")
        return shapes
    if shapes is not None:
        raise click.UsageError("give --shapes or --ranges, not both")
    from tuner.ranges import parse_ranges, shapes_within  # noqa: PLC0415

    return shapes_within(parse_ranges(ranges, case.axis_names), points or _POINTS)


def _search(*, search: bool, adaptive: bool, **options: Any) -> Search | None:
    if search and adaptive:
        raise click.UsageError("--search and --adaptive are two ways to measure less; give one")
    given = {name: options[name] for name in ("trials", "seed", "sampler")}
    given = {name: value for name, value in given.items() if value is not None}
    if not search:
        for name in given:
            raise click.UsageError(f"--{name} is of no use without --search; add it")
        if not adaptive:
            return None
    from tuner.search.asking import Search  # noqa: PLC0415

    return Search(**given, adaptive=adaptive)


@contextlib.contextmanager
def _kept(request: CaseRequest, *, quiet: bool) -> Iterator[Reporter]:
    """Show progress; on Ctrl-C or an error say what is kept and how to go on."""
    from tuner.errors import TuneError  # noqa: PLC0415
    from tuner.progress import reporter  # noqa: PLC0415

    showing = reporter(quiet=quiet)
    # What the caller has had ignored, as nohup does, stays so.
    caught = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _interrupt) for number in caught}
    try:
        yield showing
    except KeyboardInterrupt:
        showing.close()
        again = ", without --fresh," if request.fresh else ""
        say(
            f"tuner: interrupted; what was measured is kept in {request.kb}; run the same "
            f"command again{again} to go on",
            err=True,
        )
    except TuneError as error:
        showing.close()
        _say_details(error)
        raise
    finally:
        showing.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: Any) -> NoReturn:  # noqa: ARG001 (what a handler is given)
    """End the run; from here on no further signal gets in the way of its being closed."""
    for ending in _ENDING:
        signal.signal(ending, signal.SIG_IGN)
    raise KeyboardInterrupt


def _say_details(error: TuneError) -> None:
    from tuner.printable import printable  # noqa: PLC0415

    for detail in error.details:
        say(f"  {printable(detail, limit=400)}", err=True)
