"""Triton's backends: there is one."""
