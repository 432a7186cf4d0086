"""The one-file export, `msprof_*.db` and `ascend_pytorch_profiler*.db`: a row a task.

The tables are those of CANN's reference of the exported database: TASK says when and where, in
nanoseconds; COMPUTE_TASK_INFO which of the tasks are kernels, STRING_IDS what these are called.
Copies by the DMA engine and waits are tasks and no kernels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from codegen.errors import shown
from tuner.devices.npu.database import opened, require, rows
from tuner.devices.npu.tasks import Launched, interval_of, whole, wrong

__all__ = ["read_msprof"]

_QUERY = """
SELECT task.startNs, task.endNs, task.deviceId, info.name, string.value
FROM TASK AS task
JOIN COMPUTE_TASK_INFO AS info ON info.globalTaskId = task.globalTaskId
LEFT JOIN STRING_IDS AS string ON string.id = info.name
ORDER BY task.startNs, task.endNs, task.globalTaskId, string.value
"""


def read_msprof(path: Path) -> tuple[Launched, ...]:
    """Return the kernels in the database `path`, by when they started.

    Raises:
        ProfileError: it is no such database, is cut off, or says what cannot be.
    """
    with opened(path) as connection:
        require(connection, path, "TASK", "startNs", "endNs", "deviceId", "globalTaskId")
        require(connection, path, "COMPUTE_TASK_INFO", "name", "globalTaskId")
        require(connection, path, "STRING_IDS", "id", "value")
        found = rows(connection, path, _QUERY)
    if not found:
        raise wrong(path, "holds no task that is a kernel")
    return tuple(_launched(path, row) for row in found)


def _launched(path: Path, row: tuple[Any, ...]) -> Launched:
    start, end, device, identity, name = row
    if not isinstance(name, str):
        raise wrong(path, f"has no string for the kernel name {shown(identity)} in STRING_IDS")
    number = whole(device)
    if number is None:
        raise wrong(path, f"has the deviceId {shown(device)} in the table TASK")
    interval = interval_of(start, end, path, f"the kernel {shown(name)}")
    return Launched(name=name, device=number, intervals=(interval,))
