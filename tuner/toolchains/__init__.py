"""Toolchains: compilers of targets that are not here, each in an environment of its own.

    targets       what can be compiled for, and the limits that a compiler does not hold itself
    recipes       what an environment is made of, to the version
    environment   which of them are on this machine; `install` makes one
    service       runs in an environment: captures a kernel's launches and compiles them
    client, crew  start services, speak to them, and outlive their crashes
    verdict       what a compiler's answer means

Nothing is imported here: the service runs with the toolchain's own interpreter, which has torch,
triton and numpy, and none of the tuner's other packages.
"""
