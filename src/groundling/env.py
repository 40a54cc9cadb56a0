"""The Gymnasium environments `groundling/Nav-v0` and `groundling/NavQA-v0`; `groundling.vector_env` has vector envs."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from groundling.errors import InputError
from groundling.teacher.lexicon import Lexicon
from groundling.vector_env import RENDER_MODES, Info, NavQAVectorEnv, NavVectorEnv, Observation, check_seed


class NavEnv(gym.Env[Observation, Any]):
    """`groundling/Nav-v0`: go where a sentence says.

    ## Description

    A teacher gives one command at the beginning of an episode, such as "Please go to the red apple." or "The grid
    between owl and fox is your goal." The agent, in the center of what it sees, moves over a square map with objects
    and walls until it stands on the cell that the command refers to. The words mean nothing to it at first: the
    rewards of moves are all that connects them with the world. It follows XWorld2D of Yu, Zhang and Xu (ICLR 2018).

    ```python
    import gymnasium as gym
    import groundling

    env = gym.make("groundling/Nav-v0")
    obs, info = env.reset(seed=0)
    obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
    ```

    ## Action Space

    `Discrete(4)`: one move.

    | action | move |
    |---|---|
    | 0 | left (west) |
    | 1 | right (east) |
    | 2 | up (north) |
    | 3 | down (south) |

    A move into a wall or over the edge of the map is blocked: the agent stays, and the step counts. Objects do not
    block; the agent walks over them.

    ## Observation Space

    A `Dict`. With the default map of 7 x 7 cells, the view has 13 x 13 cells, so that the whole map is always visible.
    A cell has 12 x 12 pixels; what is beyond the map is black.

    | key | space | content |
    |---|---|---|
    | `image` | `Box(0, 255, (156, 156, 3), uint8)` | the view, with the agent in the center |
    | `command` | `MultiDiscrete([186] * 13)` | the tokens of the command, then padding (185) |

    With `observation="cells"` the key `cells` replaces `image`: `Box(0, ids - 1, (13, 13), int16)`, the id of each
    cell (floor, wall, agent, beyond the map, or one of the icons). With `observation="text"` the key `text` replaces
    it: what is seen as English sentences, and the command is text, too.

    `env.unwrapped.lexicon` maps tokens and words: `words[token]`, `token[word]`, `encode`, `decode`, `pad`.

    ## Rewards

    | reward | when |
    |---|---|
    | -0.1 | every step |
    | -0.2 | the move was blocked |
    | -1.0 | the step ends on an object that is not the target |
    | +1.0 | the target is reached |

    Those of one step are added up. `rewards={"step": -0.05}` changes some of them.

    ## Starting State

    A random map: 1 to 5 objects, each with one of 357 icons of 119 classes, and up to 15 walls; the agent is on a
    free cell. The command is drawn from those that the map triggers, with a target that can be reached. (seed, index
    of the episode) determines map and command. `reset(seed=s)` begins with episode 0 of seed s, and each further
    `reset()` with the next one.

    `reset(options=...)` accepts `episode` (the index to begin with), `scenario` (a map) and `command` (a sentence):

    ```python
    env.reset(seed=0, options={"episode": 7})
    scenario = {"objects": [{"name": "apple", "color": "red", "at": [0, 1]}], "walls": [[1, 0]], "agent": [3, 3]}
    env.reset(options={"scenario": scenario, "command": "Go to the apple."})
    ```

    ## Episode End

    Terminated when the agent reaches the target; truncated after `max_steps` steps, 4 x `size` by default (28).

    ## Info

    | key | meaning |
    |---|---|
    | `episode_index` | index of the episode under its seed |
    | `shortest_path` | number of steps of a shortest path from the start to the target |
    | `command` | the command as text (only with `texts`) |
    | `is_success` | on the last step of an episode: whether the target was reached |

    ## Arguments

    `gym.make("groundling/Nav-v0", render_mode=None, ...)` with the fields of `groundling.env_options.EnvOptions`:
    `size`, `objects`, `walls`, `max_steps`, `maps` and `rewards` of the world; `language`, `lexicon`, `lexicon_seed`
    and `types` of the sentences; `split`, `holdout`, `split_seed` and `phase` of what is held out;
    `curriculum_episodes` and `type_balanced_fraction` of the sampling; `icons`, `observation`, `texts`, `mark_target`
    and `copy` of what is seen. `render_mode` is `rgb_array` (the map from above, 64 pixels per cell) or `ansi`
    (text).

    `save_state` and `load_state`, `copy.deepcopy` and `pickle` keep the state of an environment.

    ## Vector Environment

    `gym.make_vec("groundling/Nav-v0", num_envs=256)` makes a native vector environment: env i of seed s plays the
    episodes of the single environment with seed s + i, step for step. It has Gymnasium's three autoreset modes
    (`vector_kwargs={"autoreset_mode": ...}`, by default `NEXT_STEP`), and `reset(options={"reset_mask": mask})`.

    ## Version History

    * v0: first version.
    """

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES, "render_fps": 4}  # noqa: RUF012
    _vector: type[NavVectorEnv] = NavVectorEnv

    def __init__(self, render_mode: str | None = None, **options: Any) -> None:
        self.batch = self._vector(1, render_mode, AutoresetMode.DISABLED, **options)
        self.render_mode = render_mode
        self.observation_space = self.batch.single_observation_space
        self.action_space = self.batch.single_action_space

    @property
    def lexicon(self) -> Lexicon:
        """The words and their tokens: `lexicon.words[token]`, `lexicon.token[word]`, `encode`, `decode`, `pad`."""
        return self.batch.lexicon

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin the next episode; with a seed, its first one; with `options={"episode": k}`, the one of index k.

        `options={"scenario": ..., "command": ...}` gives the map, the command, or both.
        """
        super().reset(seed=None if seed is None else check_seed("seed", seed))
        return self._first(*self.batch.reset(seed=seed, options=options))

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Act, judge, ask, observe."""
        chosen = np.asarray(action)
        if chosen.dtype.kind not in "iu" or not self.action_space.contains(chosen.astype(np.int64)):
            raise InputError(f"action must be in {self.action_space}, got {action!r}")
        batched, reward, terminated, truncated, infos = self.batch.step(chosen[None])
        observation, info = self._first(batched, infos)
        return observation, float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> Any:
        """The map from above, as pixels or as text."""
        frames = self.batch.render()
        return None if frames is None else frames[0]

    def save_state(self) -> dict[str, NDArray[Any]]:
        """A snapshot as named arrays."""
        return self.batch.save_state()

    def load_state(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a snapshot of an env with the same options."""
        self.batch.load_state(arrays)

    @staticmethod
    def _first(observation: Observation, info: Info) -> tuple[Observation, dict[str, Any]]:
        own = {name: value[0] for name, value in info.items() if name[0] != "_" and info[f"_{name}"][0]}
        return {name: value[0] for name, value in observation.items()}, {
            name: value.item() if isinstance(value, np.generic) else value for name, value in own.items()
        }


class NavQAEnv(NavEnv):
    """`groundling/NavQA-v0`: go where a sentence says, and answer a question at every step.

    ## Description

    An episode of `groundling/Nav-v0`, in which the teacher also asks a question at each step, such as "What is in the
    northwest?" or "What is the color of the apple?". The answer is one word, given together with the next move. An
    agent learns what words mean mostly from the true answers.

    ```python
    import gymnasium as gym
    import groundling

    env = gym.make("groundling/NavQA-v0")
    obs, info = env.reset(seed=0)
    action = [3, env.unwrapped.lexicon.token["apple"]]  # down, and the answer "apple"
    obs, reward, terminated, truncated, info = env.step(action)
    ```

    ## Action Space

    `MultiDiscrete([4, 186])`: a move as in `groundling/Nav-v0`, and the token of the answer to `question`. The padding
    token 185 is the answer that says nothing.

    ## Observation Space

    That of `groundling/Nav-v0` and one more key.

    | key | space | content |
    |---|---|---|
    | `image` | `Box(0, 255, (156, 156, 3), uint8)` | the view, with the agent in the center |
    | `command` | `MultiDiscrete([186] * 13)` | the tokens of the command, then padding |
    | `question` | `MultiDiscrete([186] * 13)` | the tokens of the question to answer with the next action |

    Where no question is possible (about 3 % of the first steps with normal sentences, up to two thirds in the test
    phase of `zs1`), `question` is all padding: any answer is legal, and none is judged.

    ## Rewards

    Those of `groundling/Nav-v0`. Answers are not rewarded unless `rewards={"right_answer": 1.0}` is given: `info` has
    the true answer, for a supervised loss.

    ## Starting State

    That of `groundling/Nav-v0`, and a question about the map, drawn from those that are possible.

    ## Episode End

    That of `groundling/Nav-v0`: answers do not end an episode.

    ## Info

    Besides the keys of `groundling/Nav-v0`:

    | key | meaning |
    |---|---|
    | `question` | the question to answer with the next action, as text; empty if there is none (with `texts`) |
    | `answer` | the true answer to it, as text; empty if there is no question (with `texts`) |
    | `answer_token` | the token of the true answer; the padding token if there is no question |
    | `correct` | after a step: whether the *previous* question was answered right; absent if none was asked |

    ## Arguments

    Those of `groundling/Nav-v0`.

    ## Vector Environment

    `gym.make_vec("groundling/NavQA-v0", num_envs=256)`, as for `groundling/Nav-v0`. `infos["_correct"]` says which
    environments had a question to judge.

    ## Version History

    * v0: first version.
    """

    _vector = NavQAVectorEnv
