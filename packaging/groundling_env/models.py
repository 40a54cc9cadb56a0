"""What is sent and received, as the server defines it."""

from groundling.adapters.openenv_server import GroundlingAction, GroundlingObservation

__all__ = ["GroundlingAction", "GroundlingObservation"]
