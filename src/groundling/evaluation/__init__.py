"""Evaluation: whole episodes, confidence intervals, attention on the true cells, and the leak check."""
