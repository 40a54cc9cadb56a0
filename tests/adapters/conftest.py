"""Tests of adapters whose package is not installed are not collected, and the report says so."""

import importlib.util

NEEDS = {
    "test_inspect.py": "inspect_ai",
    "test_openenv.py": "openenv",
    "test_openenv_package.py": "openenv",
    "test_trl_training.py": "trl",
}
missing = {name: package for name, package in NEEDS.items() if importlib.util.find_spec(package) is None}
collect_ignore = list(missing)


def pytest_report_header() -> list[str]:
    return [
        f"not collected: {name}, because {package} is missing; `make test-adapters` runs it"
        for name, package in missing.items()
    ]
