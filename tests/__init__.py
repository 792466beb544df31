"""Tests; each room of `headroom` has one of its own here."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The root of the repository, wherever a test is."""
