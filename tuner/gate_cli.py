"""The command `tuner gate`: parse, call one function a target, print."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codegen.command import Command, say
from tuner.option_types import Duration, Shapes

if TYPE_CHECKING:
    from tuner.errors import TuneError
    from tuner.gate import Gated, GateRequest
    from tuner.records import Shape
    from tuner.toolchains.targets import CompileTarget
    from tuner.toolchains.verdict import Verdict

__all__ = ["gate"]

_PATH = click.Path(path_type=Path)
_HINT = 300
_INTERRUPTED = 130


@click.command(cls=Command, short_help="Compile all configs for a target that is not here.")
@click.argument("case", type=_PATH)
@click.option(
    "--target",
    "targets",
    required=True,
    metavar="NAME[,NAME]",
    help="Such as ascend910b3 or sm_90; `tuner toolchain list` has all.",
)
@click.option(
    "--manifest",
    type=_PATH,
    metavar="FILE",
    help="Prove that what this manifest chooses fits: each config on shapes that it is chosen for.",
)
@click.option("--shapes", type=Shapes(), help='Such as "1,224,224;1,384,384".')
@click.option("--impl", type=_PATH, help="The implementation.  [default: CASE/impl.py]")
@click.option("--space", type=_PATH, help="The search space.  [default: CASE/tune.yaml]")
@click.option("--kb", type=_PATH, help="The knowledge base.  [default: the user's own]")
@click.option(
    "--strict",
    is_flag=True,
    help="Reject what is kept only because the compiler built it otherwise than asked for.",
)
@click.option("--fresh", is_flag=True, help="Forget what is known, and compile all anew.")
@click.option("--timeout", type=Duration(), default="60s", show_default=True, help="A config.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, 256),
    default=None,
    help="Compilers at once.  [default: one a core]",
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
def gate(
    case: Path,
    targets: str,
    manifest: Path | None,
    shapes: tuple[Shape, ...] | None,
    impl: Path | None,
    space: Path | None,
    kb: Path | None,
    strict: bool,
    fresh: bool,
    timeout: float,
    jobs: int | None,
    quiet: bool,
) -> int:
    """Let the compilers of targets that are not here judge all configs of CASE.

    Each is compiled for a few shapes, one of each kind that Triton treats apart, by the target's
    own compiler. It says what does not fit on the chip, and how much it lacks. Verdicts are kept in
    the knowledge base: a second run compiles what is new.

    Exit status 2 if a target is left without any config; with --manifest 1 if one does not fit.
    """
    from tuner.needs import need  # noqa: PLC0415 (`--help` need not wait)

    need("numpy", "yaml")
    from tuner.home import knowledge_base  # noqa: PLC0415
    from tuner.toolchains.targets import parse_targets  # noqa: PLC0415

    asked = parse_targets(targets)
    request = _request(
        case,
        manifest,
        target=asked[0],
        impl=impl,
        space=space,
        shapes=shapes,
        kb=kb or knowledge_base(),
        services=jobs or os.cpu_count() or 1,
        timeout_s=timeout,
        fresh=fresh,
    )
    try:
        bad = _judged(request, asked, proving=manifest is not None, strict=strict, quiet=quiet)
    except KeyboardInterrupt:
        again = ", without --fresh," if fresh else ""
        say(
            f"tuner: interrupted; the verdicts so far are kept in {request.kb}; run the same "
            f"command again{again} to go on",
            err=True,
        )
        return _INTERRUPTED
    if bad and manifest is not None:
        say(f"{manifest}: chooses what does not fit {', '.join(bad)}", err=True)
        return 1
    if bad:
        raise _nothing_left(bad, case)
    return 0


def _judged(
    request: GateRequest,
    targets: Sequence[CompileTarget],
    *,
    proving: bool,
    strict: bool,
    quiet: bool,
) -> list[str]:
    """Gate for each target; return those for which all is lost, or with `proving` anything."""
    bad = []
    for target in targets:
        found = _gated(replace(request, target=target), strict=strict, quiet=quiet)
        kept = [verdict.kept for verdict in found.verdicts.values()]
        if not (all(kept) if proving else any(kept)):
            bad.append(target.name)
    return bad


def _request(case: Path, manifest: Path | None, **options: Any) -> GateRequest:
    from codegen.manifest import load_manifest, policy_of  # noqa: PLC0415
    from tuner.cases import load_case  # noqa: PLC0415
    from tuner.errors import CaseError  # noqa: PLC0415
    from tuner.gate import GateRequest  # noqa: PLC0415

    impl, space = options.pop("impl"), options.pop("space")
    if manifest is None:
        return GateRequest(case=load_case(case, impl=impl, space=space), **options)
    known = load_manifest(manifest)
    source = known.kernel.source
    if impl is None and source is not None:
        impl = manifest.parent / source.file
    loaded = load_case(case, impl=impl, space=space)
    if source is not None and source.sha256 != loaded.source_sha256:
        raise CaseError(
            f"is other code than {manifest} was tuned for",
            where=str(loaded.impl),
            remedy="tune it again, or name the tuned code with --impl",
        )
    if tuple(axis.name for axis in known.axes) != loaded.axis_names:
        raise CaseError(
            f"has other axes than {manifest}: {', '.join(loaded.axis_names)}",
            where=str(case),
            remedy="name the case that was tuned",
        )
    options["shapes"] = options["shapes"] or _tuned_shapes(manifest)
    return GateRequest(case=loaded, policy=policy_of(known), **options)


def _tuned_shapes(manifest: Path) -> tuple[Shape, ...] | None:
    """Return the shapes of the table beside `manifest`; None if there is none."""
    from codegen.files import exists  # noqa: PLC0415
    from tuner.outcome import TABLE_NAME  # noqa: PLC0415
    from tuner.table import read_table  # noqa: PLC0415

    path = manifest.with_name(TABLE_NAME)
    if not exists(path):
        return None
    return tuple(tuple(shape) for shape in read_table(path).shapes.tolist())


def _gated(request: GateRequest, *, strict: bool, quiet: bool) -> Gated:
    """Gate, and print what came of it."""
    from tuner.gate import gate_case  # noqa: PLC0415
    from tuner.progress import reporter  # noqa: PLC0415

    showing = reporter(quiet=quiet)
    try:
        found = gate_case(request, showing)
    finally:
        showing.close()
    found = found.strictly() if strict else found
    for line in _lines(found):
        say(line)
    return found


def _nothing_left(targets: Sequence[str], case: Path) -> TuneError:
    from tuner.errors import TuneError  # noqa: PLC0415

    return TuneError(
        f"no config is left for {', '.join(targets)}",
        where=str(case),
        remedy="see the reasons above, and add smaller configs",
    )


def _lines(found: Gated) -> Iterator[str]:
    from tuner.printable import plural  # noqa: PLC0415

    tools = ", ".join(f"{tool} {version}" for tool, version in found.toolchain.versions)
    yield f"{found.target.name} ({tools}): {found.kept} of {len(found.configs)} configs kept"
    axes = ", ".join(found.axis_names)
    shapes, known = plural(len(found.shapes), "shape"), plural(found.known, "verdict")
    yield f"  on {shapes} ({axes}), {known} known before"
    width = max(len(config.id) for config in found.configs)
    for config in found.configs:
        yield f"  {config.id:<{width}}  {_fate(found.of(config))}"


def _fate(verdicts: Mapping[Shape, Verdict]) -> str:
    """Return in words what came of a config, by its verdicts on each shape."""
    from tuner.printable import printable  # noqa: PLC0415

    failed = [(shape, verdict.failure) for shape, verdict in verdicts.items() if verdict.failure]
    notes = [verdict.note for verdict in verdicts.values() if verdict.note]
    if not verdicts:
        return "not for any of the shapes"
    if not failed:
        return f"kept; {printable(notes[0], limit=_HINT)}" if notes else "kept"
    (shape, failure), *more = failed
    where = f"on ({', '.join(map(str, shape))})" + (f" and {len(more)} more" if more else "")
    if len(failed) == len(verdicts):
        where = "on all shapes"
    return f"rejected {where}: {printable(failure.message, limit=_HINT)}"
