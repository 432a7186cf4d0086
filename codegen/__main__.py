"""`python -m codegen` is `codegen`."""

from codegen.cli import main

main()
