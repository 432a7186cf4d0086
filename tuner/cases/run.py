"""A case from end to end: tuned, emitted, checked on tuned shapes and on others, timed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from codegen.emit import emission
from codegen.files import write_text
from codegen.header import is_ours
from codegen.json_text import dump_json
from codegen.literals import comment
from codegen.output import previous
from tuner.cases.case import Case, load_case
from tuner.cases.others import shapes_between
from tuner.crew import Done, Outcome, ShapeLost, Workers
from tuner.devices.names import parse_devices
from tuner.errors import DeviceError
from tuner.home import knowledge_base
from tuner.outcome import Delivery, TuneOutcome
from tuner.places import check_ours
from tuner.printable import plural, printable
from tuner.progress import Quiet, Reporter
from tuner.records import Failure, Shape, Timing
from tuner.tune import CaseRequest, kernel_of, tune_case
from tuner.worker.messages import Candidate, Job, Step

__all__ = ["Report", "run_case", "run_request"]

_SUMMARY_NAME = "summary.json"
_REPORT_NAME = "report.md"
# Shapes that were not tuned, on which the dispatch is checked.
_OTHERS = 12

_Results = Mapping[tuple[Shape, str], Timing | Failure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came of a run.

    Attributes:
        right: whether every output with the dispatch was right.
        text: for the terminal; the same facts stand in `summary` and in the files.
        written: the files.
    """

    outcome: TuneOutcome
    right: bool
    summary: Mapping[str, Any]
    text: str
    written: tuple[Path, ...]


def run_case(
    directory: Path,
    *,
    device: str = "cpu",
    impl: Path | None = None,
    space: Path | None = None,
    output: Path | None = None,
    kb: Path | None = None,
    shapes: Sequence[Shape] | None = None,
    reporter: Reporter | None = None,
) -> Report:
    """Tune the case in `directory`, emit its dispatch, check and time it, and write the report.

    Args:
        directory: with `base.py`, `impl.py` and `sample.json`.
        device: as the command line's `--device`.
        impl: another implementation than the case's.
        space: another search space than its `tune.yaml`.
        output: a directory for what is written; that of the implementation if None.
        kb: the knowledge base; the user's own if None.
        shapes: instead of those that the case names.
        reporter: who shows progress; nobody if None.

    Raises:
        TunerError: as `tune_case`, and DeviceError for a device that runs no kernel.
        CodegenError: the manifest cannot be emitted.
    """
    case = load_case(directory, impl=impl, space=space)
    request = CaseRequest(
        case=case,
        devices=parse_devices(device),
        kb=kb or knowledge_base(),
        delivery=Delivery(directory=output or case.impl.parent, source=case.impl),
        shapes=tuple(shapes) if shapes is not None else None,
    )
    return run_request(request, reporter or Quiet())


def run_request(request: CaseRequest, reporter: Reporter) -> Report:
    """Do what `run_case` does, as `request` says."""
    if request.devices[0].kind == "replay":
        raise DeviceError(
            "a replay runs no kernel, so that there is nothing to check",
            where="--device",
            remedy="use tuner tune, or a device",
        )
    case = request.case
    _check_places(request.delivery)
    outcome = tune_case(request, reporter)
    module = _emitted(outcome, force=request.delivery.force)
    tuned = tuple(dict.fromkeys(record.shape for record in outcome.measured.records))
    others = shapes_between(tuned, _OTHERS) if case.has_inputs_for_shape else ()
    shapes, best = (*tuned, *others), _best(outcome)
    results = _profiled(request, outcome, module, {s: best.get(s) for s in shapes}, reporter)
    rows = [_row(outcome, shape, results, best=best.get(shape)) for shape in shapes]
    summary = _summary(case, outcome, rows)
    text = _report(summary)
    directory = outcome.manifest_path.parent
    _check_places(request.delivery)
    written = {_SUMMARY_NAME: dump_json(summary), _REPORT_NAME: text}
    for name, content in written.items():
        write_text(directory / name, content)
    return Report(
        outcome=outcome,
        right=all(row["right"] for row in rows),
        summary=summary,
        text=text,
        written=(
            *outcome.copies,
            outcome.manifest_path,
            outcome.table_path,
            module,
            *(directory / name for name in written),
        ),
    )


def _check_places(delivery: Delivery) -> None:
    """Refuse, before anything is measured, to write over what is not ours.

    Raises:
        OutputError: a file of the report's is something else.
    """
    for name, what in ((_SUMMARY_NAME, "a summary of ours"), (_REPORT_NAME, "a report of ours")):
        check_ours(delivery.directory / name, _holds_ours, what, force=delivery.force)
    module = delivery.directory / f"{delivery.source.stem}_dispatch.py"
    check_ours(module, _holds_module, "a module that was emitted", force=delivery.force)


def _holds_ours(data: bytes) -> bool:
    return all(name.encode() in data for name in ("tuned", "dispatch", "best", "reference"))


def _holds_module(data: bytes) -> bool:
    return is_ours(data[:64].decode("ascii", "replace"))


def _emitted(outcome: TuneOutcome, *, force: bool) -> Path:
    item = emission(outcome.manifest_path)
    previous(item, force=force)
    write_text(item.output, item.text)
    return item.output


def _profiled(
    request: CaseRequest,
    outcome: TuneOutcome,
    module: Path,
    best: Mapping[Shape, str | None],
    reporter: Reporter,
) -> _Results:
    """Check the dispatch on each shape, and time it there beside reference, default and best."""
    configs = {fate.config.id: fate.config for fate in outcome.fates}
    default = configs[outcome.manifest.default]
    jobs = []
    for shape, name in best.items():
        # Configs that are the same are timed once.
        chosen: list[Candidate] = ["reference", "dispatch", default]
        chosen += [configs[name]] if name and name != default.id else []
        jobs.append(Job(steps=(Step(shape=shape, configs=tuple(chosen)),), measure=True))
    crew = Workers(kernel_of(request.case, module.resolve()), request.devices, request.limits)
    results: dict[tuple[Shape, str], Timing | Failure] = {}
    try:
        crew.target()
        reporter.stage("check", len(jobs))
        for event in crew.run(iter(jobs)):
            match event:
                case Outcome(shape=shape, config=name, result=result) if result is not None:
                    results[shape, name] = result
                case ShapeLost(shape=shape, message=message):
                    failure = Failure(kind="launch", message=message)
                    results[shape, "dispatch"] = failure
                case Done(device=device):
                    reporter.advance(device, None, None)
    finally:
        crew.close()
    return results


def _best(outcome: TuneOutcome) -> dict[Shape, str]:
    """Return the id of the fastest config on each tuned shape."""
    found: dict[Shape, tuple[float, str]] = {}
    for record in outcome.measured.records:
        if isinstance(record.result, Timing) and record.config.id not in outcome.measured.rejected:
            one = (record.result.median_us, record.config.id)
            found[record.shape] = min(found.get(record.shape, one), one)
    return {shape: name for shape, (_, name) in found.items()}


def _row(
    outcome: TuneOutcome, shape: Shape, results: _Results, *, best: str | None
) -> dict[str, Any]:
    """Return the row of a shape; `best` is the fastest config there, None if it was not tuned."""
    chosen = outcome.select(shape)
    dispatch = results.get((shape, "dispatch"))
    row: dict[str, Any] = {
        "shape": list(shape),
        "tuned": best is not None,
        "config": chosen.id,
        "right": isinstance(dispatch, Timing),
        "reference_us": _us(results.get((shape, "reference"))),
        "default_us": _us(results.get((shape, outcome.manifest.default))),
        "dispatch_us": _us(dispatch),
        "best_us": _us(results.get((shape, best))) if best else None,
    }
    if isinstance(dispatch, Failure):
        row["failure"] = f"{dispatch.kind}: {printable(dispatch.message, limit=300)}"
    elif dispatch is None:
        row["failure"] = "launch: it was not run"
    return row


def _us(result: Timing | Failure | None) -> float | None:
    return round(result.median_us, 3) if isinstance(result, Timing) else None


def _summary(case: Case, outcome: TuneOutcome, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    target = outcome.measured.scope.target
    return {
        "kernel": case.kernel,
        "axis_names": list(case.axis_names),
        "device": target.device,
        "toolchain": dict(target.toolchain),
        "method": outcome.measured.method,
        "right": all(row["right"] for row in rows),
        "speedup_over_default": _ratio(rows, "default_us", "dispatch_us"),
        "speedup_over_reference": _ratio(rows, "reference_us", "dispatch_us"),
        "slowdown_over_best": _ratio(rows, "dispatch_us", "best_us"),
        "candidates": [
            {"config": fate.config.id, "fate": shown_fate(str(fate))} for fate in outcome.fates
        ],
        "shapes": list(rows),
    }


def shown_fate(text: str) -> str:
    """Return a fate in words that may stand in a file: a kernel's message may hold anything."""
    return comment(text[:500])


def _ratio(rows: Sequence[Mapping[str, Any]], above: str, below: str) -> float | None:
    """Return the geometric mean of one column over another, on the shapes that have both."""
    ratios = [row[above] / row[below] for row in rows if row[above] and row[below]]
    return round(geometric_mean(ratios), 4) if ratios else None


def _report(summary: Mapping[str, Any]) -> str:
    return "\n".join(_report_lines(summary)) + "\n"


def _report_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    rows = summary["shapes"]
    tools = ", ".join(f"{tool} {version}" for tool, version in summary["toolchain"].items())
    right = sum(row["right"] for row in rows)
    yield f"# {comment(summary['kernel'])}"
    yield ""
    yield f"{comment(summary['device'])} ({comment(tools)}); {comment(summary['method'])}."
    yield ""
    yield f"Outputs right on {right} of {plural(len(rows), 'shape')}."
    for name, words in (
        ("speedup_over_default", "times as fast as the default config"),
        ("speedup_over_reference", "times as fast as the reference"),
        ("slowdown_over_best", "times the time of the best config of each tuned shape"),
    ):
        if summary[name]:
            yield f"Dispatch: {summary[name]:.3f} {words}, geometric mean."
    yield ""
    axes = ", ".join(summary["axis_names"])
    yield f"| {axes} | tuned | reference us | default us | dispatch us | best us | config |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        sizes, tuned = ", ".join(map(str, row["shape"])), "yes" if row["tuned"] else "no"
        yield f"| {sizes} | {tuned} | {_cells(row)} |"
    wrong = [row for row in rows if "failure" in row]
    yield from [""] if wrong else []
    for row in wrong:
        yield f"- ({', '.join(map(str, row['shape']))}): {comment(row['failure'])}"


def _cells(row: Mapping[str, Any]) -> str:
    times = [row[name] for name in ("reference_us", "default_us", "dispatch_us", "best_us")]
    texts = ["" if time is None else f"{time:.2f}" for time in times]
    if not row["right"]:
        texts[2] = "WRONG" if "failure" in row and row["failure"].startswith("wrong") else "FAILED"
    return " | ".join([*texts, comment(row["config"])])
