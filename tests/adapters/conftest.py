"""Tests of adapters whose package is not installed are not collected, and the report says so."""

import importlib.util

import pytest

from groundling.suites.suite import SIZES

NEEDS = {
    "test_inspect.py": "inspect_ai",
    "test_openenv.py": "openenv",
    "test_openenv_package.py": "openenv",
    "test_trl_training.py": "trl",
}
missing = {name: package for name, package in NEEDS.items() if importlib.util.find_spec(package) is None}
collect_ignore = list(missing)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--suite-size", choices=tuple(SIZES), default="small", help="Size of the suites that are played.")


@pytest.fixture(scope="session")
def size(request: pytest.FixtureRequest) -> str:
    """The size of the suites; the option is unknown if pytest was started for a folder above this one."""
    return str(request.config.getoption("--suite-size", "small"))


def pytest_report_header() -> list[str]:
    return [
        f"not collected: {name}, because {package} is missing; `make test-adapters` runs it"
        for name, package in missing.items()
    ]
