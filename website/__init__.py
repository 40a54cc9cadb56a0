"""The documentation site: `make docs` builds it from `docs/`, the package and the results."""
