"""The teacher: what every config can be expected to cost on a shape that was not measured.

Three are asked. A forest knows each config's tiles, and learns from all configs at once; boosted
trees and kriging know the shape alone, and learn all configs side by side, the root of the regret:
that makes much of small differences between good configs and little of those between bad ones. On
their mean they err less than any of them, as they err in different places. Nothing of it can be
deployed; a selector is grown on what it says (distillation: Breiman and Shang, 1996, "Born again
trees"; Buciluă, Caruana and Niculescu-Mizil, 2006).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tuner.arrays import FloatArray, IntArray
from tuner.fit.boosted import grow_boosted
from tuner.fit.facts import cell_facts, shape_facts, shape_place
from tuner.fit.forest import Forest, grow_forest
from tuner.fit.kriging import Kriging
from tuner.fit.problem import Problem

__all__ = ["Teacher"]

# Regrets are cut here (4.5 times slower): a hopeless config must not shape what is learned of
# good ones.
_CEILING = 1.5
_MILLIONTHS = 10**6
# So many trees in the forest: more take longer than a fit may. Of a table of few shapes little
# can be learned.
_TREES, _TREES_FOR_FEW = 24, 8
_BOOSTED_TREES = 64
_FEW_SHAPES = 20
# How many facts are drawn at a node: of 64, half do as well as all.
_CELL_TRIES, _SHAPE_TRIES = 32, 8
# A tree sees so many cells, or shapes times configs, at most: more make it slow and no better.
_MOST_CELLS = 8192
# So many cells are asked about at a time: their facts fill 40 MB or so.
_AT_ONCE = 2**17


class Teacher:
    """Learns from the measured shapes of `problem`, and is asked about others."""

    def __init__(self, problem: Problem) -> None:
        self._configs = problem.configs
        # A config that failed counts as hopeless.
        regret = np.minimum(np.nan_to_num(problem.regret, nan=_CEILING), _CEILING)
        targets = np.rint(regret * _MILLIONTHS).astype(np.int64)
        facts = cell_facts(problem.shapes, problem.configs)
        tried = ~problem.untried
        self._cells = _of_cells(facts[tried], targets[tried], _trees(problem))
        place, roots = shape_place(problem.shapes), np.sqrt(targets / _MILLIONTHS)
        self._surface = Kriging(place, np.where(tried, roots, np.nan))
        if problem.untried.any():
            # Boosted trees learn all configs of a shape at once.
            expected, _ = self._cells.predict(facts[problem.untried])
            smooth = _squared(self._surface.predict(place))[problem.untried]
            targets[problem.untried] = np.rint((expected[:, 0] + smooth) / 2)
            roots = np.sqrt(targets / _MILLIONTHS)
        self._shapes = grow_boosted(
            shape_facts(problem.shapes),
            np.rint(roots * _MILLIONTHS).astype(np.int64),
            trees=_BOOSTED_TREES,
            tries=_SHAPE_TRIES,
            rows=max(1, 4 * _MOST_CELLS // len(self._configs)),
            seed=1,
        )

    def regret(self, shapes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the regret expected on `shapes`, the least of a shape 0, and its variance.

        Both are (n_shapes, n_configs), and rounded to millionths, so that the last bit of a sum
        decides nothing. The variance is that of the opinions, each tree of the forest having one.
        """
        step = max(1, _AT_ONCE // len(self._configs))
        parts = [self._asked(shapes[i : i + step]) for i in range(0, len(shapes), step)]
        regret, variance = zip(*parts, strict=True)
        return np.concatenate(regret), np.concatenate(variance)

    def _asked(self, shapes: IntArray) -> tuple[FloatArray, FloatArray]:
        facts = cell_facts(shapes, self._configs)
        asked = self._cells.predict(facts.reshape(-1, facts.shape[2]))
        mean, variance = (each.reshape(facts.shape[:2]) for each in asked)
        said = (
            np.rint(mean),
            _squared(self._shapes.predict(shape_facts(shapes)) / _MILLIONTHS),
            _squared(self._surface.predict(shape_place(shapes))),
        )
        expected = np.mean(said, axis=0)
        # The variance of a mixture: that of the means, and a third of the forest's own.
        doubt = np.var(said, axis=0) + variance / len(said)
        expected = np.rint(expected)
        regret: FloatArray = (expected - expected.min(axis=1, keepdims=True)) / _MILLIONTHS
        return regret, np.rint(doubt / _MILLIONTHS) / _MILLIONTHS


def _squared(roots: FloatArray) -> FloatArray:
    """Return the regrets, in millionths, of which `roots` are the roots."""
    squared: FloatArray = np.rint(np.maximum(roots, 0.0) ** 2 * _MILLIONTHS)
    return squared


def _of_cells(facts: NDArray[np.int32], targets: IntArray, trees: int) -> Forest:
    return grow_forest(
        facts,
        targets.reshape(-1, 1),
        trees=trees,
        tries=_CELL_TRIES,
        rows=_MOST_CELLS,
        seed=0,
    )


def _trees(problem: Problem) -> int:
    return _TREES if len(problem.shapes) >= _FEW_SHAPES else _TREES_FOR_FEW
