# Each target does all of its own set-up in .venv; Python 3.11 or newer and make are enough.
PYTHON ?= python3
BIN := .venv/bin
# The CPU build of PyTorch, before anything asks for a looser version and downloads the CUDA one.
TORCH := torch==2.13.0

.PHONY: demo test bench icons clean

demo: .venv/demo
	$(BIN)/groundling demo --out out

test: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

bench: .venv/dev
	$(BIN)/groundling bench world
	$(BIN)/groundling bench agent
	$(BIN)/groundling bench learn

icons: .venv/dev
	$(BIN)/python icons/build.py

clean:
	rm -rf .venv out

.venv/pip:
	$(PYTHON) -m venv .venv
	touch $@

.venv/demo: .venv/pip pyproject.toml
	$(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pip install --quiet --editable '.[agent,study]'
	touch $@

.venv/dev: .venv/pip pyproject.toml
	$(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pip install --quiet --editable '.[agent,study,export,compare,dev]'
	touch $@
