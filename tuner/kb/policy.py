"""Which of two results stays, when one key has two.

A policy ranks the results; two that rank alike are the same result. So the outcome of a merge does
not depend on the order in which its sources come.
"""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

from tuner.kb.fields import result_value
from tuner.records import Record, Timing

__all__ = ["POLICIES", "Policy", "prefers", "same_result"]

# newest   the later one stays
# fastest  a timing before a failure, then the shorter time, then the later one
# error    neither: the two are a reason to change nothing
Policy: TypeAlias = Literal["newest", "fastest", "error"]
POLICIES: tuple[Policy, ...] = ("newest", "fastest", "error")


def same_result(one: Record, other: Record) -> bool:
    """Say whether two records of one key say the same, if perhaps at different times."""
    return one.result == other.result


def prefers(policy: Policy, new: Record, old: Record) -> bool:
    """Say whether `new` is to take the place of `old`, a record of the same key."""
    return _rank(policy, new) > _rank(policy, old)


def _rank(policy: Policy, record: Record) -> tuple[Any, ...]:
    match record.result:
        case Timing(median_us=median_us):
            speed = (1, -median_us)
        case _:
            speed = (0, 0.0)
    # Of the same second and speed the text decides, which is arbitrary and always the same.
    text = json.dumps(result_value(record))
    return (*speed, record.at, text) if policy == "fastest" else (record.at, *speed, text)
