"""What was found on a machine: values alone, so that what follows from them can be tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tuner.devices.npu.cann import Cann

__all__ = ["AUTOLOAD_OFF", "UNKNOWN", "Device", "Found", "Import"]

# The name under which torch is looked at once more, its backends not loaded.
AUTOLOAD_OFF = "torch without its backends"
# In place of the version of a package that is there and was not installed.
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device that a library sees; `arch` is None where the name says it all."""

    name: str
    arch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """What came of importing a module in a process of its own.

    Attributes:
        version: what it says of itself.
        error: why it cannot be imported, None if it can.
        cuda: the CUDA that torch was built for, None without.
        available: whether the library says that its devices can be used.
        devices: that it sees.
    """

    version: str | None = None
    error: str | None = None
    cuda: str | None = None
    available: bool = False
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A machine.

    Attributes:
        python: the version of the interpreter, as `3.11.2`.
        processor: the CPU, with its architecture.
        environment: what is set of the variables that matter.
        cann: the installation of CANN, None if there is none.
        msprof: where CANN's profiler is on the path, None if it is not.
        nodes: the device files of NPUs, such as `/dev/davinci0`.
        driver: the version of NVIDIA's driver, None if there is none.
        distributions: by the name of a package, the version that is installed, or `UNKNOWN`.
        torch_pin: the version of torch that torch_npu was built for, None if it is not installed.
        imports: by the name of a module; those that are not installed are missing.
    """

    python: str
    processor: Device
    environment: Mapping[str, str] = field(default_factory=dict)
    cann: Cann | None = None
    msprof: str | None = None
    nodes: tuple[str, ...] = ()
    driver: str | None = None
    distributions: Mapping[str, str] = field(default_factory=dict)
    torch_pin: str | None = None
    imports: Mapping[str, Import] = field(default_factory=dict)

    def imported(self, module: str) -> bool:
        """Say whether `module` can be imported."""
        return module in self.imports and self.imports[module].error is None

    def sees(self, module: str) -> bool:
        """Say whether `module` can use devices."""
        return module in self.imports and self.imports[module].available
