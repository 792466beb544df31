"""Headroom keeps AWS storage out of I/O starvation, by itself, within limits its owner sets."""

__version__ = "0.2.0"
