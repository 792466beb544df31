"""Zip files whose bytes depend on nothing but what is in them."""

from __future__ import annotations

import zipfile
from pathlib import Path


def zip_folder(folder: Path, target: Path) -> Path:
    """Zip all files of `folder`, sorted, with one date and mode; returns `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())
            entry.external_attr, entry.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return target
