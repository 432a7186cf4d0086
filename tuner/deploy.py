"""Using a tuned kernel's selector without emitting it: found by the hash of the calling file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from codegen.axes import AxisValue
from codegen.config import Config
from codegen.emit import module_text
from codegen.files import exists
from codegen.manifest import Manifest, load_manifest
from codegen.source_hash import source_sha256_of
from tuner.errors import DeployError
from tuner.home import kernels

__all__ = ["DeployError", "DeployedSelector", "directory_of", "load_deployed_selector"]

_DIGITS = 16
_MANIFEST_NAME = "manifest.json"
_loaded: dict[tuple[Path, Path], DeployedSelector] = {}


class DeployedSelector:
    """A manifest's selector, ready to be called: `selector((M, N, K))` gives the config.

    It runs the code that `codegen emit` would write, and so costs and chooses the same.
    """

    __slots__ = ("_select", "manifest")

    def __init__(self, manifest: Manifest, path: Path) -> None:
        text = module_text(manifest, path, path.with_name("manifest_dispatch.py"))
        names: dict[str, object] = {"__name__": "manifest_dispatch"}
        exec(compile(text, "<dispatch>", "exec", dont_inherit=True), names)  # noqa: S102 (ours, checked)
        self.manifest = manifest
        self._select = names["_select_config"]

    def __call__(self, shape: Sequence[AxisValue]) -> Config:
        """Return the config for `shape`, one value an axis.

        Raises:
            ValueError: `shape` is of another length, or outside where the manifest says to raise.
        """
        config: Config = self._select(shape)  # type: ignore[operator]
        return config


def directory_of(source_sha256: str, cache_dir: Path | None = None) -> Path:
    """Return where `tune_configs` writes what it finds of the source with this hash."""
    return (cache_dir or kernels()) / source_sha256[:_DIGITS]


def load_deployed_selector(
    cache_dir: Path | str | None = None, *, source: Path | str | None = None
) -> DeployedSelector:
    """Return the selector that was tuned for the calling file as it is now.

    The manifest is read at the first call from a file, and held: later calls cost a look-up.

    Args:
        cache_dir: what `tune_configs` was given; its default if None.
        source: the kernel's file, if it is not the caller's.

    Raises:
        DeployError: there is none, such as after a change of the source's code.
        SourceError: the source cannot be read.
        ManifestError: the manifest is not sound.
    """
    path = Path(source if source is not None else sys._getframe(1).f_code.co_filename)  # noqa: SLF001
    key = (path, Path(cache_dir) if cache_dir is not None else kernels())
    if key not in _loaded:
        _loaded[key] = _load(*key)
    return _loaded[key]


def _load(source: Path, cache_dir: Path) -> DeployedSelector:
    if not exists(source):
        raise DeployError(
            "is not a file, so that it has no hash",
            where=str(source),
            remedy="call it from the kernel's file, or pass source=",
        )
    sha256 = source_sha256_of(source)
    path = directory_of(sha256, cache_dir) / _MANIFEST_NAME
    if not exists(path):
        raise DeployError(
            f"no manifest for the code as it is now, {sha256[:_DIGITS]}, under {cache_dir}",
            where=str(source),
            remedy="tune it: tune_configs(...), with the same cache_dir",
        )
    return DeployedSelector(load_manifest(path), path)
