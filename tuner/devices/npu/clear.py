"""The L2 cache is cleared by writing more than it holds."""

from __future__ import annotations

from typing import Any

from tuner.devices.npu.markers import CLEARS
from tuner.devices.npu.tasks import ProfileError
from tuner.printable import printable

__all__ = ["CLEAR_BYTES", "Clear", "MarkedClear"]

CLEAR_BYTES = 192 * 2**20  # The L2 cache of a 910B.
_DTYPE_BYTES = 4


class Clear:
    """A buffer on the device, to be overwritten."""

    def __init__(self, torch: Any, device: str) -> None:
        size = CLEAR_BYTES // _DTYPE_BYTES
        self.buffer: Any = torch.empty(size, dtype=torch.int32, device=device)

    def __call__(self) -> None:
        """Clear the cache by a kernel of torch's, as it comes."""
        self.buffer.zero_()


class MarkedClear:
    """The same by Triton kernels, whose names a profile is divided by."""

    def __init__(self, clear: Clear, torch: Any) -> None:
        """Compile the kernels, and run each once.

        Raises:
            ProfileError: triton cannot be imported, or cannot compile for this device.
        """
        self._buffer = clear.buffer
        try:
            from tuner.devices.npu import clear_kernels  # noqa: PLC0415 (imports triton)

            self._kernels = clear_kernels
            self.between(whole=True)
            for turn in range(len(CLEARS)):
                self.step(turn)
            torch.npu.synchronize()
        except Exception as error:  # noqa: BLE001 (a compiler and a driver raise anything)
            raise ProfileError(
                f"the L2 clear does not run in Triton: {printable(str(error), limit=120)}",
                where="npu",
                remedy="install triton-ascend",
            ) from None

    def step(self, turn: int) -> None:
        """Clear the cache ahead of step number `turn`, the first being 0."""
        self._run(self._kernels.CLEAR_KERNELS[turn % len(CLEARS)], self._buffer.numel())

    def between(self, *, whole: bool = False) -> None:
        """Mark what follows as part of no step; clears the cache if `whole`."""
        size = self._buffer.numel() if whole else self._kernels.BLOCK
        self._run(self._kernels.BETWEEN_KERNEL, size)

    def _run(self, kernel: Any, size: int) -> None:
        programs = self._kernels.PROGRAMS
        kernel[(programs,)](self._buffer, size, BLOCK=self._kernels.BLOCK, PROGRAMS=programs)
