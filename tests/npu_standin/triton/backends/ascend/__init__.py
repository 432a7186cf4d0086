"""The backend for Ascend."""
