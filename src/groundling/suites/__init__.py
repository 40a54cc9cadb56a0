"""Frozen test suites, reference players, and results of any player in one schema."""
