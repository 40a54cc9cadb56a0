"""The paper's study: a grid of runs, launchers, tables, figures, model cards and few-shot words."""
