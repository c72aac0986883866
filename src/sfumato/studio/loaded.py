"""What work looks up by name, loaded once: the process that workers are forked from imports this, and no worker waits for it."""

from __future__ import annotations

import pyarrow as pa

from sfumato.attacks.base import Attack
from sfumato.audit.base import Check, Reading
from sfumato.audit.source import SourceAudit
from sfumato.methods.base import Method
from sfumato.metrics.base import Metric
from sfumato.models.base import Model
from sfumato.registry import catalogue
from sfumato.report.section import Section
from sfumato.report.write import save_private

ROOMS = {"models": Model, "methods": Method, "metrics": Metric, "attacks": Attack, "report.sections": Section}
ROOMS |= {"audit.checks": Check, "audit.readings": Reading, "audit.sources": SourceAudit}
LOADED = {room: catalogue(room, base) for room, base in ROOMS.items()}
REPORTS = save_private
NOTHING = pa.array([], pa.null())
"""Who makes its first array asks whether pandas is there, and by asking loads it: once here, and not in every worker."""
