"""How the agent learns: losses and returns as pure functions."""
