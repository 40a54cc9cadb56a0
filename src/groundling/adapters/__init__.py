"""Frozen suites and text episodes for other frameworks; each module needs the package that it is named after."""
