"""The commands `tuner tune` and `tuner run`: parse, call one function, print."""

from __future__ import annotations

import contextlib
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from codegen.command import Command, say
from tuner.tune_options import POINTS, with_options

if TYPE_CHECKING:
    from tuner.cases import Case
    from tuner.errors import TuneError
    from tuner.progress import Reporter
    from tuner.records import Shape
    from tuner.search.asking import Search
    from tuner.tune import CaseRequest

__all__ = ["run", "tune"]

_INTERRUPTED = 130
# Ctrl-C, what a scheduler sends, and what comes when the terminal is closed.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command(cls=Command)
@with_options
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
@with_options
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

    return shapes_within(parse_ranges(ranges, case.axis_names), points or POINTS)


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
