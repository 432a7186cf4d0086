"""Search: which configs of a large space are measured on which shapes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from codegen.config import Config
from tuner.records import Shape
from tuner.search.adaptive import AdaptiveSearcher
from tuner.search.asking import DEFAULT_TRIALS, SAMPLERS, Ask, Chooser, SamplerName, Search
from tuner.search.encoding import encoded
from tuner.search.proposers import ModelProposer, Proposer, RandomProposer
from tuner.search.searcher import Searcher

__all__ = ["DEFAULT_TRIALS", "SAMPLERS", "Ask", "SamplerName", "Search", "Searcher", "searcher_of"]

# Where more params vary, distances between configs say little, and so does a model that goes by
# them.
_MOST_MODELLED = 10


def searcher_of(
    search: Search, configs: Sequence[Config], allowed: Mapping[Shape, Collection[str]]
) -> Chooser:
    """Return a searcher that begins anew.

    Args:
        search: the settings.
        configs: of the space, each once.
        allowed: by shape, the ids of those that may be used there.
    """
    if search.adaptive:
        return AdaptiveSearcher(configs, allowed)
    proposer = _proposer(search, configs)
    return Searcher(configs, allowed, proposer, trials=search.trials)


def _proposer(search: Search, configs: Sequence[Config]) -> Proposer:
    encoding, seed = encoded(configs), search.seed
    few = len(encoding.names) <= _MOST_MODELLED
    sampler = search.sampler or ("surrogate" if few else "evolution")
    if sampler == "surrogate":
        return ModelProposer(encoding, seed)
    if sampler == "random":
        return RandomProposer(seed)
    from tuner.search.optuna_proposer import OptunaProposer  # noqa: PLC0415 (slow to import)

    return OptunaProposer(encoding, seed, sampler)
