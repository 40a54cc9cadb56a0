"""Rewards of your own: they are settings of the world and reach environments and training alike.

python examples/own_rewards.py
groundling train smoke --rewards.step -0.02 --rewards.wrong-object -2
"""

import gymnasium as gym

import groundling  # noqa: F401 - registers the environments


def total_reward(**rewards: float) -> float:
    """The sum of rewards of one episode with random actions."""
    env = gym.make("groundling/Nav-v0", rewards=rewards)
    env.reset(seed=0)
    env.action_space.seed(0)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        total, over = total + float(reward), terminated or truncated
    return total


def main() -> None:
    print(f"the paper's rewards:    {total_reward():.1f}")
    print(f"free steps:             {total_reward(step=0.0):.1f}")
    print(f"only the target counts: {total_reward(step=0.0, blocked=0.0, wrong_object=0.0):.1f}")


if __name__ == "__main__":
    main()
