"""What work looks up by name, loaded once: the process that workers are forked from imports this, and no worker waits
for it."""

from __future__ import annotations

import pyarrow as pa

from sfumato.core.registry import catalogue
from sfumato.models.base import Model
from sfumato.release.attack import Attack
from sfumato.release.evidence import Check, Evidence, SourceAudit
from sfumato.release.method import Method
from sfumato.release.metric import Metric
from sfumato.release.report_section import Section
from sfumato.workflow.report import save_private

ROOMS = {"models": Model, "methods": Method, "metrics": Metric, "attacks": Attack, "report sections": Section}
ROOMS |= {"checks": Check, "evidence": Evidence, "source audits": SourceAudit}
LOADED = {room: catalogue(room, base) for room, base in ROOMS.items()}
REPORTS = save_private
NOTHING = pa.array([], pa.null())
"""Who makes its first array asks whether pandas is there, and by asking loads it: once here, and not in every
worker."""
