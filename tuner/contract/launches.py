"""Each launch takes what the config holds, from one config, and leaves tuning to the dispatch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codegen.config import LAUNCH_OPTIONS
from codegen.errors import listed
from tuner.contract.breach import Breach
from tuner.contract.candidates import Candidates
from tuner.contract.carriers import Carriers
from tuner.contract.grid import grid_breaches, reads_of
from tuner.contract.launch import Launch, find_launches, parameters_of
from tuner.contract.module import Module
from tuner.contract.nodes import Function, decorators, dotted
from tuner.contract.values import Fixed, Read, Scope

__all__ = ["launch_breaches"]


def launch_breaches(module: Module, carriers: Carriers, known: Candidates) -> Iterator[Breach]:
    """Yield what is wrong with the launches that an entry comes to."""
    tuned: set[ast.AST] = set()
    for function in carriers.names:
        scope = Scope(module, function, carriers.names)
        for launch in find_launches(scope):
            yield from grid_breaches(launch, known.params)
            yield from _receiver_breaches(launch)
            yield from _param_breaches(launch, known)
            if launch.follows:
                yield from _option_breaches(launch, known)
            if launch.kernel is not None and launch.kernel not in tuned:
                tuned.add(launch.kernel)
                yield from _decorator_breaches(module, launch.kernel, known)
        yield from _wrapped_breaches(scope)


def _receiver_breaches(launch: Launch) -> Iterator[Breach]:
    """Yield a breach for a value that is not of the config that was selected."""
    reads = [value for value in launch.values.values() if isinstance(value, Read)]
    reads += reads_of(launch.scope, launch.grid)
    for other in sorted({read.other for read in reads if read.other is not None}):
        fact = f"the launch takes values of {other}, which is not the config of this call"
        remedy = "take all values from config"
        yield launch.scope.module.breach(launch.call, "launch", fact, remedy)


def _param_breaches(launch: Launch, known: Candidates) -> Iterator[Breach]:
    module, names = launch.scope.module, {*known.params}
    for name, value in launch.values.items():
        place = launch.given[name]
        if isinstance(value, Read) and value.name != name:
            group = names if name in names else {*LAUNCH_OPTIONS}
            if name in group and value.name in {*names, *LAUNCH_OPTIONS}:
                fact = f"{launch.name} is given {value.name} of the config as its {name}"
                yield module.breach(place, "launch", fact, f"give it {_read(name)}")
        if isinstance(value, Fixed) and name in names and launch.follows and not launch.params:
            fact = f"{launch.name} is given {value.value} as {name}, fixed"
            yield module.breach(place, "launch", fact, f"give it {_read(name)}")
        if launch.params and name in names:
            fact = f"{launch.name} is given {name} twice: it is among the config's params"
            yield module.breach(place, "launch", fact, f"remove {name}")
    if launch.kernel is None or known.settings is None:
        return
    takes = parameters_of(launch.kernel)
    if launch.params and (strange := [name for name in known.params if name not in takes]):
        fact = f"{launch.name} has no param {listed(strange)}, which it is given with all others"
        yield module.breach(launch.call, "launch", fact, "give it the params that it has, each")
    if not (launch.params or launch.hidden):
        missing = [name for name in _required(launch.kernel) if name not in launch.given]
        if missing := [name for name in missing if name in names]:
            fact = f"{launch.name} is given no {listed(missing)}"
            yield module.breach(launch.call, "launch", fact, f"give it {_read(missing[0])}")


def _required(kernel: Function) -> tuple[str, ...]:
    """Return the params that have no default."""
    arguments = kernel.args
    plain = [*arguments.posonlyargs, *arguments.args]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    required = plain[: len(plain) - len(arguments.defaults)]
    return tuple(item.arg for item in [*required, *(item for item, value in named if not value)])


def _read(name: str) -> str:
    return f"config.{name}" if name in LAUNCH_OPTIONS else f'config.param("{name}")'


def _option_breaches(launch: Launch, known: Candidates) -> Iterator[Breach]:
    """Yield a breach for each launch option that the candidates set and the launch does not."""
    module = launch.scope.module
    for option in known.launch_options:
        settings = (known.settings or {})[option]
        value = launch.values.get(option)
        if launch.options and option in launch.given:
            fact = f"{launch.name} is given {option} twice: config.all_kwargs() has it"
            yield module.breach(launch.given[option], "launch", fact, f"remove {option}")
        if launch.options or launch.hidden:
            continue
        if option not in launch.given:
            fact = f"{launch.name} is launched without {option}, which the candidates set"
            remedy = f"add {option}=config.{option}"
            yield module.breach(launch.call, "launch", fact, remedy)
        elif isinstance(value, Fixed) and settings != {value.value}:
            fact = f"{launch.name} is launched with {option}={value.value}, which candidates vary"
            remedy = f"write {option}=config.{option}"
            yield module.breach(launch.given[option], "launch", fact, remedy)
    if known.backend_options and not launch.options and not launch.hidden:
        fact = f"{launch.name} is launched without {listed(known.backend_options)}, an option of "
        fact += "the candidates"
        remedy = "launch it with **config.all_kwargs()"
        yield module.breach(launch.call, "launch", fact, remedy)


def _decorator_breaches(module: Module, kernel: Function, known: Candidates) -> Iterator[Breach]:
    for name, decorator in decorators(kernel):
        if name == "autotune":
            yield _autotune_breach(module, decorator, kernel.name)
        if name == "heuristics" and isinstance(decorator, ast.Call):
            keys = {
                key.value
                for item in [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
                for key in (item.keys if isinstance(item, ast.Dict) else ())
                if isinstance(key, ast.Constant)
            }
            for param in (param for param in known.params if param in keys):
                fact = f"a heuristic of {kernel.name} sets {param}, whatever the config holds"
                yield module.breach(decorator, "autotune", fact, "remove it from the heuristics")


def _wrapped_breaches(scope: Scope) -> Iterator[Breach]:
    """Yield a breach for `kernel = triton.autotune(…)(kernel)` where that is launched."""
    for node in ast.walk(scope.function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            match scope.expanded(node.func.value):
                case ast.Call(func=ast.Call(func=function)) as call:
                    if (dotted(function) or "").endswith("autotune"):
                        yield _autotune_breach(scope.module, call, ast.unparse(node.func.value))


def _autotune_breach(module: Module, node: ast.AST, kernel: str) -> Breach:
    fact = f"{kernel} is tuned by Triton when it is launched"
    remedy = "remove the decorator triton.autotune: `tuner harvest` makes a case of its configs"
    return module.breach(node, "autotune", fact, remedy)
