"""A client with typed actions and observations."""

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.types import State

from groundling.adapters.openenv_server import GroundlingAction, GroundlingObservation


class GroundlingEnv(EnvClient[GroundlingAction, GroundlingObservation, State]):
    """Plays episodes on a server.

    with GroundlingEnv(base_url="http://localhost:8000").sync() as env:
        result = env.reset(split="zs1", index=0)
        while not result.done:
            result = env.step(GroundlingAction(reply=model(result.observation.text)))
    """

    def _step_payload(self, action: GroundlingAction) -> dict[str, Any]:
        return {"reply": action.reply}

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[GroundlingObservation]:
        outcome = {"done": payload.get("done", False), "reward": payload.get("reward")}
        observation = GroundlingObservation(**{**payload["observation"], **outcome})
        return StepResult(observation=observation, **outcome)

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(episode_id=payload.get("episode_id"), step_count=payload.get("step_count", 0))
