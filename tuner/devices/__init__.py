"""Devices: where a kernel is run and timed.

A kind of device is a module or a package with a class that follows `Device`, and a branch of
`open_device`. It is opened in a worker process only: the process that plans and writes never
touches one.
"""

from __future__ import annotations

from tuner.devices.base import Device, Launch, Times
from tuner.devices.names import DeviceName, parse_devices

__all__ = ["Device", "DeviceName", "Launch", "Times", "open_device", "options_of", "parse_devices"]


def open_device(name: DeviceName) -> Device:
    """Return the device called `name`, ready to be used in this process.

    Raises:
        DeviceError: it is not there, or a package that it needs is not.
    """
    if name.kind == "cpu":
        from tuner.devices.cpu import Cpu  # noqa: PLC0415 (each kind imports what it needs)

        return Cpu()
    if name.kind == "npu":
        from tuner.devices.npu import Npu  # noqa: PLC0415

        return Npu()
    from tuner.devices.cuda import Cuda  # noqa: PLC0415

    return Cuda()


def options_of(name: DeviceName) -> tuple[str, ...] | None:
    """Return which launch options an NPU's compiler knows; None for other kinds of device.

    Called where `name` has been opened.
    """
    if name.kind != "npu":
        return None
    from tuner.devices.npu.options import launch_options  # noqa: PLC0415

    return launch_options()
