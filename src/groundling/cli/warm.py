"""`groundling warm`"""

import time

import gymnasium as gym
import numpy as np

from groundling.jit import cache_folder
from groundling.teacher.teacher import Teacher
from groundling.teacher.valid_sentences import valid_sentences


def warm() -> None:
    """Compile the simulator in advance, for container images, clusters and demos."""
    start = time.perf_counter()
    for name in ("Nav", "NavQA"):
        for observation in ("pixels", "cells"):
            envs = gym.make_vec(f"groundling/{name}-v0", num_envs=2, observation=observation)
            envs.reset(seed=0)
            envs.step(np.zeros(envs.action_space.shape, np.int64))
    teacher = Teacher()
    episode = teacher.begin(0, [0])
    valid_sentences(teacher, episode.state)
    teacher.referred_positions(episode, episode.question)
    print(f"Compiled in {time.perf_counter() - start:.1f} s; machine code is in {cache_folder() or 'no cache folder'}")
