"""What pyproject.toml cannot say: what the wheel holds beside the package itself.

`headroom/vendor` of an installed wheel has the functions' entry points, the packages that are
deployed with them, and the plotting library of the HTML pages. The last two are there if `make
setup` has fetched them; nothing is downloaded here.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from tools.zips import zip_folder  # noqa: E402 - not on the path of a build

COPIED = {
    "lambdas": "lambdas/*.py",
    "uplot": "node_modules/uplot/dist/uPlot.*min.*",
    "uplot/licence": "node_modules/uplot/LICENSE",
}
PACKAGES = ROOT / "build" / "wheels"


class BuildWithVendor(build_py):
    """Builds from nothing, so that no module of an earlier build stays in the wheel."""

    def run(self) -> None:
        if self.editable_mode:
            return super().run()
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        vendor = Path(self.build_lib) / "headroom" / "vendor"
        for name, pattern in COPIED.items():
            for source in sorted(ROOT.glob(pattern)):
                (vendor / name).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, vendor / name / source.name)
        if PACKAGES.is_dir():
            zip_folder(PACKAGES, vendor / "function_packages.zip")
        return None


setup(cmdclass={"build_py": BuildWithVendor}, options={"build": {"build_base": "build/setuptools"}})
