"""The worker: a process of its own in which a kernel is compiled, run, checked and timed.

`python -m tuner.worker FD` is started by `tuner.crew` and spoken to in `messages`. Whatever the
kernel does to it, a crash, a hang, an unusable device, costs one config on one shape.
"""
