# Each target does all of its own set-up in .venv; Python 3.11 or newer and make are enough.
PYTHON ?= python3
BIN := .venv/bin
# The CPU build of PyTorch, before anything asks for a looser version and downloads the CUDA one.
TORCH := torch==2.13.0

# Of the suites that `make test-adapters` plays: small or full.
SIZE := small

.PHONY: demo test test-adapters test-package test-oldest package coverage leaderboard docs tables bench icons screenshots chromium node clean

demo: .venv/demo
	$(BIN)/groundling warm
	$(BIN)/groundling demo --out out

test: .venv/dev chromium node_modules/done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	npm run --silent check
	$(BIN)/pytest --numprocesses 2 --dist loadfile

# Adapters whose packages are large, or exclude those of `test`: each in an environment of its own.
test-adapters: .venv-inspect/done .venv-openenv/done .venv-trl/done
	.venv-inspect/bin/pytest tests/adapters/test_inspect.py --suite-size $(SIZE)
	.venv-openenv/bin/pytest tests/adapters/test_openenv.py tests/adapters/test_openenv_package.py --suite-size $(SIZE)
	.venv-trl/bin/pytest tests/adapters/test_trl.py tests/adapters/test_trl_training.py --suite-size $(SIZE)

# After a change of the pretrained weights: the rows of the agents, and the tables of all pages.
leaderboard: .venv/dev
	$(BIN)/groundling suites reference normal zs1-50 zs2-50
	$(MAKE) tables

# The wheel and the source distribution, in dist.
package: .venv-build/done
	rm -rf dist
	.venv-build/bin/python -m build --outdir dist

# Both in an empty environment of every Python here; PYTHONS="..." chooses others.
test-package: package
	.venv-build/bin/pytest -q packaging/test_wheel.py

# The lowest versions of all dependencies except PyTorch; old packages warn about new ones, which is no error here.
test-oldest: .venv-oldest/done
	.venv-oldest/bin/pytest -q -W default --ignore tests/page --ignore tests/adapters --ignore tests/study -m "not slow" tests

coverage: .venv/dev chromium
	$(BIN)/python -m coverage erase
	$(BIN)/pytest -q --numprocesses 2 --dist loadfile --cov --cov-report= tests
	$(BIN)/python -m coverage report

# The documentation site, in out/site; a broken link is an error.
docs: .venv-docs/done
	.venv-docs/bin/python -m website.build

# After a change of results: the tables in README.md and docs.
tables: .venv/dev
	$(BIN)/python -m website.tables

bench: .venv/dev
	$(BIN)/groundling bench world
	$(BIN)/groundling bench agent
	$(BIN)/groundling bench learn
	$(BIN)/groundling bench page

icons: .venv/dev
	$(BIN)/python icons/build.py

screenshots: .venv/dev chromium
	$(BIN)/python -m tests.page.screenshots docs
	$(BIN)/python -m website.pictures docs/episode.gif

# A browser for the tests of the page, installed where that is possible.
chromium:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && [ -f /etc/debian_version ] && apt-get update -qq && \
		apt-get install -qq -y --no-install-recommends chromium >/dev/null; } || \
	echo "chromium is missing and can be installed only on Debian as root; the browser tests are left out."

# Node.js checks the types and the style of the page's JavaScript; the page itself does not need it.
node:
	@command -v npm >/dev/null || \
	{ [ "$$(id -u)" = 0 ] && [ -f /etc/debian_version ] && apt-get update -qq && \
		apt-get install -qq -y --no-install-recommends nodejs npm >/dev/null; } || \
	{ echo "npm is missing and can be installed only on Debian as root; install Node.js 20 or newer."; exit 1; }

node_modules/done: package.json package-lock.json | node
	npm ci --silent --no-audit --no-fund
	touch $@

.venv-%/done: pyproject.toml
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/pip install --quiet --editable '.[$*]' pytest httpx
	touch $@

.venv-docs/done: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/pip install --quiet $(TORCH)
	.venv-docs/bin/pip install --quiet --editable '.[agent,page,study,docs]'
	touch $@

# The CPU build of PyTorch, before TRL asks for it.
.venv-trl/done: pyproject.toml
	$(PYTHON) -m venv .venv-trl
	.venv-trl/bin/pip install --quiet $(TORCH)
	.venv-trl/bin/pip install --quiet --editable '.[trl]' pytest
	touch $@

.venv-build/done:
	$(PYTHON) -m venv .venv-build
	.venv-build/bin/pip install --quiet build pytest
	touch $@

.venv-oldest/done: pyproject.toml packaging/oldest.py
	$(PYTHON) -m venv .venv-oldest
	$(PYTHON) packaging/oldest.py agent study page export offline dev > .venv-oldest/constraints.txt
	.venv-oldest/bin/pip install --quiet $(TORCH)
	.venv-oldest/bin/pip install --quiet --constraint .venv-oldest/constraints.txt \
		--editable '.[agent,study,page,export,offline,dev]'
	touch $@

clean:
	rm -rf .venv .venv-build .venv-docs .venv-inspect .venv-oldest .venv-openenv .venv-trl node_modules dist out

.venv/pip:
	$(PYTHON) -m venv .venv
	touch $@

.venv/demo: .venv/pip pyproject.toml
	$(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pip install --quiet --editable '.[agent,study]'
	touch $@

.venv/dev: .venv/pip pyproject.toml
	$(BIN)/pip install --quiet $(TORCH)
	$(BIN)/pip install --quiet --editable '.[agent,study,page,cluster,export,compare,offline,dev]'
	touch $@
