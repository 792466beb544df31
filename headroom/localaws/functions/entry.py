"""The entry point of a function process: AWS's runtime client with the endpoint's clock.

The deployed asset is not touched. When its module `headroom.wiring` is imported, the function
`utc_now` there is replaced by one that reads the endpoint's clock file; any other function that
wants simulated time can be written the same way, everything else keeps system time.
"""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from types import ModuleType

CLOCK_FILE_VARIABLE = "_LOCAL_AWS_CLOCK_FILE"
CLOCKED_MODULE = "headroom.wiring"


def endpoint_now(path: str) -> datetime:
    """The endpoint's instant; system time while its clock follows that."""
    with open(path, encoding="ascii") as file:
        text = file.read().strip()
    return datetime.now(UTC) if text == "system" else datetime.fromisoformat(text)


class _ClockedLoader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader, path: str) -> None:
        self._loader = loader
        self._path = path

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        module.utc_now = lambda: endpoint_now(self._path)  # type: ignore[attr-defined]


class _ClockedFinder(importlib.abc.MetaPathFinder):
    def __init__(self, path: str) -> None:
        self._path = path

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != CLOCKED_MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _ClockedLoader(spec.loader, self._path)
        return spec


def main(arguments: Sequence[str]) -> None:
    """Serve the handler named in the arguments until killed."""
    sys.meta_path.insert(0, _ClockedFinder(os.environ.pop(CLOCK_FILE_VARIABLE)))
    sys.path.insert(0, os.environ["LAMBDA_TASK_ROOT"])
    from awslambdaric.__main__ import main as serve

    gc.set_threshold(100_000, 20, 50)  # the handler's modules and clients stay until the end
    serve(["awslambdaric", *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
