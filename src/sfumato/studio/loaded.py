"""What work looks up by name, loaded once: the process that workers are forked from imports this, and no worker waits for it."""

from __future__ import annotations

from sfumato.attacks.base import Attack
from sfumato.audit.base import Check, Reading
from sfumato.methods.base import Method
from sfumato.metrics.base import Metric
from sfumato.models.base import Model
from sfumato.registry import catalogue

ROOMS = {"models": Model, "methods": Method, "metrics": Metric, "attacks": Attack, "audit.checks": Check, "audit.readings": Reading}
LOADED = {room: catalogue(room, base) for room, base in ROOMS.items()}
