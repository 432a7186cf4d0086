"""Device time by events, each launch with a cold L2 and the host ahead of it.

CUDA's events and the NPU's are called alike: what is given is the part of torch that has them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

from tuner.devices.base import Launch, Times

__all__ = ["EventClock"]

# Work of some milliseconds ahead of the first launch: the host's lead, and time for the clock to
# rise.
_LEAD_FLUSHES = 16
# With more events in flight than this, recording one waits for the device.
_BATCH = 1000


class EventClock:
    """Times launches between two events each."""

    def __init__(
        self,
        api: Any,
        flush: Callable[[], object],
        *,
        odd: Callable[[], object] | None = None,
        lead: int = _LEAD_FLUSHES,
    ) -> None:
        """Take the part of torch with `Event` and `synchronize`, and what clears the L2 cache.

        Args:
            api: `torch.cuda`, or what is called alike.
            flush: work on the device that leaves nothing of before in its L2.
            odd: a kernel of no work, for every second launch. What two events take by themselves
                depends on where the device's queue stands: on an H200 up to 1.2 us more, by a
                pattern that comes again after so many commands. With an odd number of commands
                every other time, 16 launches in a row meet all of it alike.
            lead: flushes ahead of the first launch.
        """
        self._api, self._flush, self._odd, self._lead = api, flush, odd, lead

    def time(self, launches: Sequence[Launch], *, before: Launch | None = None) -> Times:
        """Time each launch between two events; all of a batch are enqueued before the one wait."""
        us: list[float] = []
        late: list[bool] = []
        busy_s = 0.0
        for first in range(0, len(launches), _BATCH):
            times = self._batch(launches[first : first + _BATCH], before)
            us += times.us
            late += times.late
            busy_s += times.busy_s
        return Times(us=tuple(us), late=tuple(late), busy_s=busy_s)

    def _batch(self, launches: Sequence[Launch], before: Launch | None) -> Times:
        events = [(self._event(), self._event()) for _ in launches]
        begin, late = self._event(), []
        collecting = gc.isenabled()
        gc.disable()  # A collection in the midst would cost the host its lead.
        try:
            self._api.synchronize()
            begin.record()
            for _ in range(self._lead):
                self._flush()
            for i, (launch, (start, end)) in enumerate(zip(launches, events, strict=True)):
                if before:
                    before()
                if self._odd and i % 2:
                    self._odd()
                self._flush()
                start.record()
                launch()
                end.record()
                # Passed before the launch was complete: the device may have waited for it.
                late.append(bool(start.query()))
            self._api.synchronize()
        finally:
            if collecting:
                gc.enable()
        return Times(
            us=tuple(1000.0 * start.elapsed_time(end) for start, end in events),
            late=tuple(late),
            busy_s=begin.elapsed_time(events[-1][1]) / 1000.0 if events else 0.0,
        )

    def _event(self) -> Any:
        return self._api.Event(enable_timing=True)
