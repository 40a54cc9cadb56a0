"""Training: presets, the stages (QA pretraining, PPO, the paper's actor-critic), few-shot words, trained agents."""
