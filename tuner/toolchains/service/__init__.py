"""The service: run by a toolchain's own interpreter, it captures launches and compiles them.

    main     the loop: a line of JSON in, a line of JSON out
    model    the case's model, on torch's device without memory if it can be
    driver   the stand-in for a device's driver, which says what to compile for
    gpu      triton for NVIDIA and AMD
    ascend   triton-ascend and bishengir-compile

Only the standard library, torch, triton and numpy can be imported here, and what of the tuner
needs no more.
"""
