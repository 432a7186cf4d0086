"""The end of `make demo`: import the emitted module as production does, and select."""

import sys

sys.path.insert(0, ".")

import impl_dispatch  # found in the directory added above

for shape in ((1, 4096, 4096), (128, 4096, 4096), (4096, 4096, 4096), (4096, 4096, 999_999)):
    config = impl_dispatch._select_config(shape)
    print(f"  {shape!s:>24} -> {config.all_kwargs()}")
