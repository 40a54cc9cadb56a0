"""Groundling as an OpenEnv environment."""

from .client import GroundlingEnv
from .models import GroundlingAction, GroundlingObservation

__all__ = ["GroundlingAction", "GroundlingEnv", "GroundlingObservation"]
