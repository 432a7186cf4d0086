"""The end of `make demo`: import the emitted module as production does, and select."""

import sys

sys.path.insert(0, ".")

import impl_dispatch  # found in the directory added above

for shape in ((1, 4096, 64), (100, 1000, 32), (1000, 64, 16), (4096, 16, 32), (9000, 16, 32)):
    config = impl_dispatch._select_config(shape)
    print(f"  {shape!s:>15} -> {config.all_kwargs()}")
