"""A search in a run: what the searcher asks for is answered from the ledger, or left to measure."""

from __future__ import annotations

from collections import Counter

from tuner.ledger import DEADLY, Ledger
from tuner.records import STRIKES, Failure, Timing
from tuner.search import Ask, Search, searcher_of
from tuner.space import Space

__all__ = ["Inquiry"]


class Inquiry:
    """Goes through a search from its beginning, whatever of it is known already.

    What was measured in an earlier run is asked for again, and known: so the search comes to where
    it was, and what else is known of other configs makes no difference to it.
    """

    def __init__(self, search: Search, space: Space, ledger: Ledger) -> None:
        self._ledger = ledger
        allowed = {shape: ledger.allowed_ids(shape) for shape in ledger.shapes}
        self._searcher = searcher_of(search, space.configs, allowed)
        self._asks: tuple[Ask, ...] = ()
        self._deaths: Counter[str] = Counter()

    @property
    def left(self) -> int:
        """How many configs will be asked for yet, at most, over all shapes."""
        return self._searcher.left(self._ledger.shapes)

    @property
    def unfinished(self) -> int:
        """How many shapes there is something to be measured on yet."""
        asked = {ask.shape for ask in self._asks}
        shapes = self._ledger.shapes
        return sum(s in asked or self._searcher.left((s,)) > 0 for s in shapes) if asked else 0

    def next(self) -> tuple[Ask, ...]:
        """Return what is to be measured next, less what is known; empty when all is."""
        while True:
            self._asks = self._asks or self._searcher.next(self._ledger.shapes)
            if not self._asks or (left := self._open()):
                return left if self._asks else ()
            self.settle()

    def settle(self) -> None:
        """Go on with what is known by now of what was asked for; of the rest nothing will be."""
        for ask in self._asks:
            results = {c.id: self._ledger.result(ask.shape, c.id) for c in ask.configs}
            failures = {n: r for n, r in results.items() if isinstance(r, Failure)}
            self._deaths.update(n for n, failure in failures.items() if failure.kind in DEADLY)
            out = {n for n, f in failures.items() if f.kind == "wrong"}
            out |= {name for name, deaths in self._deaths.items() if deaths >= STRIKES}
            times = {n: r.median_us for n, r in results.items() if isinstance(r, Timing)}
            self._searcher.tell(ask, times, out)
        self._asks = ()

    def _open(self) -> tuple[Ask, ...]:
        """Return what of `_asks` can be measured, and is not known."""
        rejected = self._ledger.rejected(())
        found = []
        for ask in self._asks:
            if self._ledger.has(ask.shape):
                configs = tuple(
                    c
                    for c in ask.configs
                    if self._ledger.result(ask.shape, c.id) is None and c.id not in rejected
                )
                found += [Ask(shape=ask.shape, configs=configs)] if configs else []
        return tuple(found)
