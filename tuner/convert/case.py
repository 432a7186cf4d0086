"""The kernel of a case, converted: what its file is to be, and the file itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codegen.config import Value
from codegen.files import absolute, read_bytes, write_bytes
from tuner.cases.files import exists, is_directory
from tuner.cases.sample import Sample, read_sample
from tuner.convert.candidates import options_of
from tuner.convert.convert import Conversion, convert
from tuner.convert.engine import rewritten
from tuner.convert.errors import ConvertError
from tuner.convert.files import Text, read_text
from tuner.errors import CaseError

__all__ = ["Draft", "draft_case", "postprocess_case"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A converted kernel that is not written yet.

    Attributes:
        source: the file that it is made from, and `before` its text.
        output: the file that it is for.
        faults: what keeps it from being written, a line each; only of another program's work.
    """

    source: Path
    output: Path
    before: str
    text: str
    data: bytes
    constants: tuple[tuple[str, Value], ...]
    notes: tuple[str, ...]
    faults: tuple[str, ...]

    @property
    def changed(self) -> bool:
        """Say whether the file at `output` is not this."""
        return read_bytes(self.output) != self.data

    def write(self, *, force: bool = False) -> bool:
        """Write the file; say whether that changed anything.

        Raises:
            ConvertError: another file stands at `output`, and there is no `force`.
            OutputError: it cannot be written.
        """
        own = absolute(self.output) == absolute(self.source)
        if not own and not force and exists(self.output) and self.changed:
            remedy = "name another file with -o, or overwrite it with --force"
            raise ConvertError(
                "exists, and holds something else", where=str(self.output), remedy=remedy
            )
        return write_bytes(self.output, self.data)


def postprocess_case(
    directory: Path,
    *,
    impl: Path | None = None,
    output: Path | None = None,
    engine: str | None = None,
) -> Path:
    """Convert the kernel of the case in `directory` and return the file that was written.

    Args:
        directory: holds `sample.json`.
        impl: the kernel, by default `impl.py` there.
        output: what is written, by default the kernel's own file.
        engine: a command that rewrites the kernel instead, see `tuner.convert.engine`.

    Raises:
        ConvertError: the kernel cannot be converted for sure, or breaks the contract.
        CaseError: a file of the case is missing or unsound.
        OutputError: the file cannot be written.
    """
    draft = draft_case(directory, impl=impl, output=output, engine=engine)
    if draft.faults:
        where, _, fault = draft.faults[0].partition(": ")
        fact, _, remedy = fault.rpartition("; ")
        raise ConvertError(fact, where=where, remedy=remedy)
    draft.write()
    return draft.output


def draft_case(
    directory: Path,
    *,
    impl: Path | None = None,
    output: Path | None = None,
    engine: str | None = None,
) -> Draft:
    """Return what `postprocess_case` writes; for the arguments and errors see there."""
    if not is_directory(directory):
        fact = "is not a directory" if exists(directory) else "does not exist"
        remedy = "name the directory with impl.py and sample.json"
        raise CaseError(fact, where=str(directory), remedy=remedy)
    source = impl or directory / "impl.py"
    place = output or source
    if is_directory(place):
        place = place / source.name
    sample = read_sample(directory / "sample.json")
    before = read_text(source)
    if engine is not None:
        if place.stem != "impl":
            remedy = "name an impl.py with -o: the dispatch that it imports is named after the file"
            raise ConvertError(f"is {place.name}", where="-o", remedy=remedy)
        text, faults = rewritten(engine, directory, source)
        result = Conversion(text=text.text, constants=(), notes=(), autotuned=())
        return _draft(source, place, text, before.text, result, faults)
    result = _converted(before.text, sample, directory, source, place)
    return _draft(source, place, before, before.text, result, ())


def _converted(text: str, sample: Sample, directory: Path, source: Path, place: Path) -> Conversion:
    try:
        return convert(
            text,
            name=str(source),
            stem=place.stem,
            shape_expr=sample.shape_expr,
            options=options_of(sample, directory),
        )
    except ConvertError as error:
        if error.where != "shape_expr":
            raise
        where = f"{sample.place}: shape_expr"
        raise ConvertError(error.fact, where=where, remedy=error.remedy) from None


def _draft(
    source: Path,
    place: Path,
    text: Text,
    before: str,
    result: Conversion,
    faults: tuple[str, ...],
) -> Draft:
    return Draft(
        source=source,
        output=place,
        before=before,
        text=result.text,
        data=text.encoded(result.text, str(source)),
        constants=result.constants,
        notes=result.notes,
        faults=faults,
    )
