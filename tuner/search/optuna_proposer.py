"""A proposer that has Optuna's samplers draw: multivariate TPE, or an evolution (NSGA-II)."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler, NSGAIISampler, TPESampler
from optuna.study import Study
from optuna.trial import Trial, TrialState

from tuner.arrays import IntArray
from tuner.records import Shape
from tuner.search.asking import Times
from tuner.search.encoding import Encoding

__all__ = ["OptunaProposer"]

_DRAWS = 4  # Of combinations that are not free, before the nearest that is free is taken.
_POPULATION = 16  # A generation is two batches.
_FAILED = 1e3  # Beyond the log of any time.


class OptunaProposer:
    """Asks what a study a shape draws; the values of a param are numbered by their order.

    TPE: Bergstra et al., 2011, all params in one density; what is asked for and not yet known
    counts as bad. Evolution: NSGA-II (Deb et al., 2002) with one objective.
    """

    def __init__(self, encoding: Encoding, seed: int, sampler: Literal["tpe", "evolution"]) -> None:
        self._encoding, self._seed, self._sampler = encoding, seed, sampler
        self._studies: dict[Shape, Study] = {}
        self._asked: dict[Shape, dict[int, Trial]] = {}
        self._told: dict[Shape, set[int]] = {}
        counts = np.bincount(encoding.column_of, minlength=len(encoding.names))
        self._ordered = counts == 1
        self._distributions: dict[str, BaseDistribution] = {
            str(i): IntDistribution(0, len(levels) - 1)
            if self._ordered[i]
            else CategoricalDistribution(tuple(range(len(levels))))
            for i, levels in enumerate(encoding.levels)
        }
        self._spans = np.array([max(1, len(levels) - 1) for levels in encoding.levels])
        self._place = {tuple(ranks): i for i, ranks in enumerate(encoding.ranks.tolist())}

    def propose(self, shape: Shape, times: Times, free: IntArray, count: int) -> list[int]:
        """Return what is drawn, or what is free and nearest to it."""
        if shape not in self._studies:
            self._studies[shape] = self._study(len(self._studies))
            self._asked[shape], self._told[shape] = {}, set()
        study = self._studies[shape]
        self._catch_up(shape, study, times)
        left, found = {*free.tolist()}, list[int]()
        while left and len(found) < count:
            one, trial = self._drawn(study, left)
            self._asked[shape][one] = trial
            left.discard(one)
            found.append(one)
        return found

    def _study(self, number: int) -> Study:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        seed = int(np.random.default_rng([self._seed, number]).integers(2**31))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler: BaseSampler = (
                TPESampler(multivariate=True, constant_liar=True, seed=seed)
                if self._sampler == "tpe"
                else NSGAIISampler(population_size=_POPULATION, seed=seed)
            )
        return optuna.create_study(sampler=sampler)

    def _catch_up(self, shape: Shape, study: Study, times: Times) -> None:
        """Tell the study what became known on `shape`, whoever asked for it."""
        told = self._told[shape]
        for one, us in times[shape].items():
            if one not in told:
                trial = self._asked[shape].pop(one, None) or self._fixed(study, one)
                study.tell(trial, _FAILED if us is None else float(np.log(max(us, 1e-6))))
                told.add(one)

    def _drawn(self, study: Study, free: set[int]) -> tuple[int, Trial]:
        """Return one of `free`, and the trial that stands for it."""
        ranks: list[int] = []
        for _ in range(_DRAWS):
            trial = study.ask(self._distributions)
            ranks = [int(trial.params[str(i)]) for i in range(len(self._encoding.names))]
            one = self._place.get(tuple(ranks))
            if one in free:
                return one, trial
            study.tell(trial, state=TrialState.FAIL)
        one = self._nearest(ranks, np.array(sorted(free)))
        return one, self._fixed(study, one)

    def _fixed(self, study: Study, one: int) -> Trial:
        ranks = self._encoding.ranks[one].tolist()
        study.enqueue_trial({str(i): rank for i, rank in enumerate(ranks)})
        return study.ask(self._distributions)

    def _nearest(self, ranks: list[int], free: IntArray) -> int:
        gaps = np.abs(self._encoding.ranks[free] - np.array(ranks, dtype=np.int64))
        parts = np.where(self._ordered, gaps / self._spans, gaps > 0)
        return int(free[parts.sum(axis=1).argmin()])
