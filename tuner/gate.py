"""The gate without a device: which configs a target's own compiler accepts, and why not the others.

Verdicts are kept in the knowledge base under the target's name and its compiler's version, as those
of a gate on the device are: what is refused as a failure, what is kept as a pass. What only the
compiler noted of a config that it kept, and which shapes the case lists, is kept among the passes
as well, in the words of their `inputs`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from codegen.config import Config
from codegen.policy import Policy
from tuner.cases import Case
from tuner.errors import CaseError
from tuner.kb import KnowledgeBase
from tuner.kb.passes import Pass
from tuner.ledger import now
from tuner.no_ops import unknown_options
from tuner.plan import gate_shapes
from tuner.progress import Reporter
from tuner.reach import choice, shapes_reaching
from tuner.records import Failure, Record, Scope, Shape, Target
from tuner.toolchains.compiling import Compiling, Judged, Pair, grids_are_free
from tuner.toolchains.environment import Toolchain, find_toolchain
from tuner.toolchains.targets import CompileTarget
from tuner.toolchains.verdict import KEPT, Verdict

__all__ = ["GateRequest", "Gated", "gate_case"]

_INPUTS = "compiled for the target, not run"
_FREE_GRIDS = f"{_INPUTS}, grids of any size"
_NOTED = "; noted: "
_LISTED = "listed by "
_AT_ONCE = 20  # Verdicts that are written together.


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRequest:
    """What is asked of `gate_case`.

    Attributes:
        shapes: instead of those that the case names; of either a few of each kind are compiled for.
        policy: of a manifest: each config is compiled for what it is chosen for alone.
        kb: the knowledge base's file; it is made if it is not there.
        services: so many compilers at once.
        timeout_s: that each may take for one config.
        fresh: forget what is known, and compile all anew.
    """

    case: Case
    target: CompileTarget
    kb: Path
    shapes: tuple[Shape, ...] | None = None
    policy: Policy | None = None
    services: int = field(default_factory=lambda: os.cpu_count() or 1)
    timeout_s: float = 60.0
    fresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What came of a gate.

    Attributes:
        verdicts: by shape and config's id, for all that the space allows.
        known: how many of them were known before.
    """

    target: CompileTarget
    toolchain: Toolchain
    axis_names: tuple[str, ...]
    shapes: tuple[Shape, ...]
    configs: tuple[Config, ...]
    verdicts: dict[tuple[Shape, str], Verdict]
    known: int

    def of(self, config: Config) -> dict[Shape, Verdict]:
        """Return the verdicts on `config`, by shape."""
        keys = ((shape, config.id) for shape in self.shapes)
        return {key[0]: self.verdicts[key] for key in keys if key in self.verdicts}

    @property
    def kept(self) -> int:
        """How many configs are kept on all shapes that they are for."""
        found = (self.of(config).values() for config in self.configs)
        return sum(bool(each) and all(verdict.kept for verdict in each) for each in found)

    def strictly(self) -> Gated:
        """Return it with what was built otherwise than asked for rejected."""
        verdicts = {key: verdict.strictly() for key, verdict in self.verdicts.items()}
        return Gated(**{**{name: getattr(self, name) for name in _FIELDS}, "verdicts": verdicts})


_FIELDS = ("target", "toolchain", "axis_names", "shapes", "configs", "known")


def gate_case(request: GateRequest, reporter: Reporter) -> Gated:
    """Let the target's compiler judge all configs of the case on shapes of each kind.

    What the knowledge base knows is taken from there; what is new is durable there as it comes.

    Raises:
        CaseError: the case cannot be loaded, or no shape is known of it.
        ToolchainError: the target's toolchain is not there, or does not work.
        KbError: the knowledge base cannot be read or written.
    """
    toolchain = find_toolchain(request.target.toolchain)
    with (
        KnowledgeBase.open(request.kb) as kb,
        Compiling(
            request.case,
            request.target,
            toolchain,
            services=request.services,
            timeout_s=request.timeout_s,
        ) as compiling,
    ):
        return _Gate(request, toolchain, kb, compiling, reporter).run()


class _Gate:
    def __init__(
        self,
        request: GateRequest,
        toolchain: Toolchain,
        kb: KnowledgeBase,
        compiling: Compiling,
        reporter: Reporter,
    ) -> None:
        self._request, self._case, self._toolchain = request, request.case, toolchain
        self._kb, self._compiling, self._reporter = kb, compiling, reporter
        self._scope = Scope(
            source_sha256=self._case.source_sha256,
            kernel=self._case.kernel,
            target=Target(
                device=request.target.name,
                arch=request.target.arch,
                toolchain=toolchain.versions,
            ),
            axis_names=self._case.axis_names,
        )
        if request.fresh:
            kb.forget(self._scope)
        self._passes = kb.passes(self._scope)
        self._inputs = _FREE_GRIDS if grids_are_free() else _INPUTS

    def run(self) -> Gated:
        wanted = self._wanted()
        shapes = tuple(dict.fromkeys(shape for shape, _ in wanted))
        configs = {config.id: config for config in self._configs(wanted)}
        verdicts = self._known({(shape, config.id) for shape, config in wanted})
        known = len(verdicts)
        todo = [pair for pair in wanted if (pair[0], pair[1].id) not in verdicts]
        if todo:
            self._reporter.stage("gate", len(todo))
            for judged in self._judged(todo):
                verdicts[judged.shape, judged.config.id] = judged.verdict
            self._note_unknown_options()
        return Gated(
            target=self._request.target,
            toolchain=self._toolchain,
            axis_names=self._case.axis_names,
            shapes=shapes,
            configs=tuple(configs.values()),
            verdicts=verdicts,
            known=known,
        )

    def _wanted(self) -> list[Pair]:
        """Return what is to be compiled: candidates on shapes of each kind, or leaves on theirs."""
        if self._request.policy is None:
            shapes = gate_shapes(self._shapes())
            return [(shape, config) for shape in shapes for config in self._allowed(shape)]
        policy, shapes = self._request.policy, self._shapes()
        leaves: dict[Config, list[Shape]] = {}
        for shape in shapes:
            # The default may be chosen for any shape, outside the envelope.
            if policy.grid is None or policy.programs(policy.default, shape) <= policy.grid.limit:
                leaves.setdefault(policy.default, []).append(shape)
            if (config := choice(policy, shape)) not in {None, policy.default}:
                leaves.setdefault(config, []).append(shape)
        for config, found in self._between(policy, shapes):
            leaves.setdefault(config, []).append(found)
        return [(shape, leaf) for leaf, found in leaves.items() for shape in gate_shapes(found)]

    def _between(self, policy: Policy, shapes: Sequence[Shape]) -> Iterator[tuple[Config, Shape]]:
        """Yield a shape for each config that is chosen on other shapes alone."""
        for config, shape in shapes_reaching(policy, shapes).items():
            if shape is not None and self._case.has_inputs_for_shape:
                yield config, shape
            elif config != policy.default:
                self._reporter.note(
                    f"{config.id} is not judged, as it is chosen on none of the shapes known; "
                    "name one with --shapes"
                )

    def _configs(self, wanted: Sequence[Pair]) -> Iterator[Config]:
        """Yield the configs that are reported, those too that the space allows on no shape."""
        if self._request.policy is None:
            yield from self._case.space.configs
        yield from (config for _, config in wanted)

    def _shapes(self) -> tuple[Shape, ...]:
        """Return the shapes of the request, of the case, or what its `base.py` was seen to list."""
        if shapes := self._request.shapes or self._case.shapes:
            return shapes
        key = _LISTED + sha256(self._case.base.read_bytes()).hexdigest()
        found = sorted((int(name), shape) for _, told, shape, name in self._passes if told == key)
        if found:
            return tuple(shape for _, shape in found)
        shapes = self._compiling.shapes()
        if not shapes:
            raise CaseError(
                "lists no shapes",
                where=str(self._case.base),
                remedy="list inputs in get_inputs_dyn_list(), or name shapes with --shapes",
            )
        listed: list[Pass] = [("", key, shape, str(i)) for i, shape in enumerate(shapes)]
        self._kb.keep_passes(self._scope, listed)
        return shapes

    def _allowed(self, shape: Shape) -> Iterator[Config]:
        sizes = dict(zip(self._case.axis_names, shape, strict=True))
        for index in self._case.space.allowed(sizes):
            yield self._case.space.configs[index]

    def _known(self, wanted: set[tuple[Shape, str]]) -> dict[tuple[Shape, str], Verdict]:
        found: dict[tuple[Shape, str], Verdict] = {}
        for _, inputs, shape, name in self._passes:
            words, _, note = inputs.partition(_NOTED)
            if words == self._inputs:
                found[shape, name] = Verdict(note=note) if note else KEPT
        for record in self._kb.lookup(self._scope):
            if isinstance(record.result, Failure) and record.inputs == self._inputs:
                found[record.shape, record.config.id] = Verdict(failure=record.result)
        return {key: verdict for key, verdict in found.items() if key in wanted}

    def _judged(self, todo: Sequence[Pair]) -> Iterator[Judged]:
        """Yield what the compiler says, each kept before long."""
        unwritten: list[Judged] = []
        try:
            for judged in self._compiling.judge(todo, self._advance):
                unwritten.append(judged)
                if len(unwritten) >= _AT_ONCE:
                    self._write(unwritten)
                    unwritten = []
                yield judged
        finally:
            self._write(unwritten)

    def _advance(self) -> None:
        self._reporter.advance(self._request.target.name, None, None)

    def _write(self, judged: Sequence[Judged]) -> None:
        failed = [one for one in judged if one.verdict.failure]
        self._kb.record(self._scope, [_record(one, self._inputs) for one in failed], replace=True)
        kept = [one for one in judged if one.verdict.kept]
        self._kb.keep_passes(self._scope, [_pass(one, self._inputs) for one in kept])

    def _note_unknown_options(self) -> None:
        for name in unknown_options(self._case.space.configs, self._compiling.options):
            self._reporter.note(
                f"{self._request.target.name} knows no option {name}, and drops or refuses it"
            )


def _record(judged: Judged, inputs: str) -> Record:
    assert judged.verdict.failure  # noqa: S101 (asked by the caller)
    return Record(
        shape=judged.shape,
        dtype=judged.dtype,
        inputs=inputs,
        config=judged.config,
        result=judged.verdict.failure,
        at=now(),
    )


def _pass(judged: Judged, inputs: str) -> Pass:
    noted = f"{_NOTED}{judged.verdict.note}" if judged.verdict.note else ""
    return judged.dtype, inputs + noted, judged.shape, judged.config.id
