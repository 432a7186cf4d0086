"""The version, in one place: the build reads it, and every emitted header names it."""

__version__ = "0.1.0"
