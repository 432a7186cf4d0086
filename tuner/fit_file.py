"""From a table's file to a manifest's file: what `tuner fit` does."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from codegen.decision import Decision
from codegen.errors import ManifestError, OutputError, SourceError
from codegen.files import absolute as from_root
from codegen.files import exists, read_bytes, write_text
from codegen.manifest import Manifest, TuneMeta, dump_manifest, load_manifest
from codegen.policy import Outside
from codegen.source_hash import source_sha256_of
from codegen.strict_json import parse_json
from tuner.fit import MAX_DEPTH, MAX_LEAVES, Fit, KindName, fit_table
from tuner.fit.previous import mismatch, previous_decision
from tuner.fit.to_manifest import manifest_of
from tuner.table import LatencyTable, read_table

__all__ = ["MANIFEST_NAME", "Fitted", "Request", "fit_file"]

MANIFEST_NAME = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of `fit_file`: the files, then how to fit, as in `fit_table`.

    What the manifest `previous` chooses is kept where noise alone speaks against it, by default
    that of the output if there is one of this kernel; not with `afresh`. `meta` goes into the
    manifest's `tune_meta`, see `manifest_of`.
    """

    table: Path
    output: Path
    source: Path | None
    kernel: str | None = None
    outside: Outside = "default"
    selector: KindName = "tree"
    max_leaves: int = MAX_LEAVES
    max_depth: int = MAX_DEPTH
    max_configs: int | None = None
    previous: Path | None = None
    afresh: bool = False
    force: bool = False
    accept_source: bool = False
    meta: TuneMeta = field(default_factory=TuneMeta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What was fitted, and whether it changed the file."""

    table: LatencyTable
    fit: Fit
    manifest: Manifest
    changed: bool


def fit_file(request: Request) -> Fitted:
    """Fit a selector to the table's file and write the manifest; all is checked before it is.

    Raises:
        TunerError: the table cannot be read, is not sound, or cannot be fitted to.
        SourceError: the source cannot be read, lies outside the manifest's directory, or is not
            the one that the table was recorded of.
        OutputError: the output is not a manifest, or cannot be written.
        ManifestError: a name does not fit the manifest, or the previous one is not sound or of
            another kernel.
    """
    _check_output(request)
    source = _source(request.source, request.output) if request.source else None
    table = read_table(request.table)
    if source and not request.accept_source:
        _check_is_recorded(table, *source)
    fit = fit_table(
        table,
        selector=request.selector,
        max_leaves=request.max_leaves,
        max_depth=request.max_depth,
        max_configs=request.max_configs,
        previous=_previous(request, table),
    )
    manifest = manifest_of(
        table,
        fit,
        kernel=request.kernel,
        outside=request.outside,
        source=source,
        meta=request.meta,
    )
    changed = write_text(request.output, dump_manifest(manifest))
    return Fitted(table=table, fit=fit, manifest=manifest, changed=changed)


def _check_output(request: Request) -> None:
    """Raise OutputError if the output is what the manifest is made from, or not ours."""
    path = request.output
    data = read_bytes(path)
    origins = [request.table, *([request.source] if request.source else [])]
    if data is not None and any(exists(origin) and path.samefile(origin) for origin in origins):
        raise OutputError(
            "is what the manifest is made from", where=str(path), remedy="name another file with -o"
        )
    if data and not request.force:
        _check_is_manifest(path, data)


def _previous(request: Request, table: LatencyTable) -> Decision | None:
    """Return what the manifest decided that is replaced; None if there is none to go by.

    One that is named must fit; one that lies where the output goes need not.
    """
    if request.afresh:
        return None
    if request.previous is not None:
        manifest = load_manifest(request.previous)
        if fact := mismatch(manifest, table, request.kernel):
            remedy = "name one of the same kernel and axes, or leave out --previous"
            raise ManifestError(fact, where=str(request.previous), remedy=remedy)
        return previous_decision(manifest, table)
    try:
        manifest = load_manifest(request.output)
    except ManifestError:
        return None
    if mismatch(manifest, table, request.kernel):
        return None
    return previous_decision(manifest, table)


def _check_is_manifest(path: Path, data: bytes) -> None:
    try:
        found = parse_json(data, name=str(path))
    except ManifestError:
        found = None
    if not isinstance(found, dict) or "schema_version" not in found:
        raise OutputError(
            "exists, and is not a manifest",
            where=str(path),
            remedy="name another file with -o, or overwrite it with --force",
        )


def _check_is_recorded(table: LatencyTable, source: str, sha256: str) -> None:
    """Raise SourceError if `table` says that it was recorded of another source than this."""
    if table.source_sha256 not in {None, sha256}:
        raise SourceError(
            f"is not the source that {table.file} was recorded of (recorded as "
            f"{str(table.source_sha256)[:12]}, now {sha256[:12]})",
            where=source,
            remedy="record the table again, or pass --accept-source if its timings still hold",
        )


def _source(source: Path, output: Path) -> tuple[str, str]:
    """Return the path of `source` from the directory of `output`, and its hash."""
    absolute, directory = from_root(source), from_root(output).parent
    if not absolute.is_relative_to(directory):
        raise SourceError(
            f"does not lie beside or below the manifest, which goes to {output}",
            where=str(source),
            remedy=f"write the manifest beside it: -o {source.parent / MANIFEST_NAME}",
        )
    return absolute.relative_to(directory).as_posix(), source_sha256_of(source)
