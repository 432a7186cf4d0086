"""The doctor: what of a machine keeps a device from being used, and what to type.

`machine` finds out what there is, the one part that touches the machine; `ascend`, `nvidia` and
`common` say what is wrong with it, `manifests` which manifests are for it, `report` prints.
"""

from __future__ import annotations

from tuner.doctor.diagnosis import Diagnosis, diagnose
from tuner.doctor.machine import look
from tuner.doctor.manifests import find_manifests
from tuner.doctor.report import json_text, lines

__all__ = ["Diagnosis", "diagnose", "find_manifests", "json_text", "lines", "look"]
