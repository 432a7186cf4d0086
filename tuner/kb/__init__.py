"""The knowledge base: a durable row for every measurement ever made, failures too.

    with KnowledgeBase.open(Path("kb.sqlite")) as kb:
        kb.record(scope, records)
        known = kb.lookup(scope)

Data goes from records to rows of a SQLite file (`rows`, `schema`), between files (`merge`,
`archive`, `lines`) and out to a latency table (`to_table`). The names below are imported when
they are first used, as SQLite and pydantic take their time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuner.kb.base import KnowledgeBase, ScopeSummary
    from tuner.kb.to_table import table_dict

__all__ = ["KnowledgeBase", "ScopeSummary", "table_dict"]

_HOMES = {
    "KnowledgeBase": "tuner.kb.base",
    "ScopeSummary": "tuner.kb.base",
    "table_dict": "tuner.kb.to_table",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
