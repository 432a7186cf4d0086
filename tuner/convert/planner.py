"""What is to be changed in a file is found out before anything is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from codegen.errors import listed
from tuner.convert.autotuned import check_autotune
from tuner.convert.entries import find_entries
from tuner.convert.errors import ConvertError
from tuner.convert.functions import CallSite, Functions
from tuner.convert.hazards import refuse_hazards
from tuner.convert.kernels import Kernel, find_kernels, signature
from tuner.convert.launches import Launch, find_launches
from tuner.convert.names import named_constants, refuse_config
from tuner.convert.plan import Options, Plan, Tuned
from tuner.convert.repeats import Repeat, repeats
from tuner.convert.source import Source
from tuner.convert.trace import Tracer
from tuner.convert.uses import Uses, checked_uses, refuse_other_roles

__all__ = ["make_plan"]


def make_plan(
    source: Source, functions: Functions, options: Options, shape_names: Sequence[str]
) -> Plan:
    """Return how the file takes its config from the dispatch.

    Raises:
        ConvertError: it cannot, or not for sure.
    """
    return _Planner(source, functions, options, shape_names).plan()


class _Planner:
    def __init__(
        self,
        source: Source,
        functions: Functions,
        options: Options,
        shape_names: Sequence[str],
    ) -> None:
        self._source, self._functions, self._options = source, functions, options
        self._params = frozenset(options.params)
        self._kernels = find_kernels(source)
        self._launches = find_launches(source, self._kernels)
        refuse_hazards(source, self._kernels, self._launches, self._params)
        self._entries = find_entries(source, functions, shape_names, self._touches, options.params)
        self._reach = functions.reach(self._entries)
        self._tracer = Tracer(source, functions, self._entries, self._reach)

    def _touches(self, host: cst.FunctionDef) -> bool:
        """Say whether `host` launches a kernel that wants the config, or has a constant of it."""
        if any(launch.host is host and self._wants(launch) for launch in self._launches):
            return True
        if any(param.name in self._params for param in signature(host)):
            return True
        return any(self._attributes(host)) or any(
            named_constants(self._source, host, name) for name in self._params
        )

    def _wants(self, launch: Launch) -> bool:
        given = {argument.name for argument in launch.arguments.named}
        known = {param.name for param in launch.kernel.params} if launch.kernel else set()
        return bool(self._params & (given | known))

    def plan(self) -> Plan:
        """Find the constants, check every use of them, and follow the calls."""
        launches = [
            launch
            for launch in self._launches
            if self._wants(launch) and self._tracer.reaches(launch.call)
        ]
        autotuned = tuple({id(k): k for k in self._autotuned(launches)}.values())
        for launch in launches:
            self._trace_params(launch)
        for host in self._reach:
            self._trace_names(host)
        self._nothing_missing(autotuned)
        tuned = tuple(self._tuned(launches))
        uses = checked_uses(self._source, self._functions, self._kernels, self._tracer)
        refuse_other_roles(self._source, self._functions, self._launches, self._tracer)
        found = repeats(self._source, self._functions, self._launches, self._tracer, self._params)
        helpers, handed = self._handed(self._needing(tuned, uses, found))
        return Plan(
            entries=self._entries,
            helpers=helpers,
            handed=handed,
            tuned=tuned,
            tracer=self._tracer,
            uses=uses,
            repeats=found,
            autotuned=autotuned,
        )

    def _autotuned(self, launches: Sequence[Launch]) -> Iterator[Kernel]:
        """Yield the kernels that lose their autotuner, after which each launch needs a config."""
        names = {launch.name for launch in launches}
        for kernel in self._kernels:
            if kernel.name in names and kernel.autotune:
                check_autotune(self._source, kernel)
                yield kernel
        for launch in self._launches:
            tuned = launch.kernel is not None and launch.kernel.autotune is not None
            if tuned and launch.name in names and not self._tracer.reaches(launch.call):
                entry = self._entries[0].name.value
                fact = f"{launch.name} is autotuned, and launched by what takes no config"
                self._source.fail(launch.call, fact, f"call {entry} instead")

    def _trace_params(self, launch: Launch) -> None:
        """Find the constants that `launch` gives for the params."""
        kernel = launch.kernel
        for name in self._options.params:
            argument = launch.arguments.get(name)
            if kernel and name in kernel.heuristics:
                fact = f"{name} is computed by @triton.heuristics: it is no free parameter"
                self._source.fail(kernel.node, fact, "take it out of config_param_names")
            if argument is not None:
                self._tracer.expression(argument.value, name)
            elif kernel is None or not kernel.takes(name):
                continue
            elif launch.arguments.hidden:
                hidden = self._source.code(launch.arguments.hidden.value)
                stars = launch.arguments.hidden.star
                fact = f"{stars}{hidden} may hide {name} of {launch.name}"
                self._source.fail(launch.call, fact, f"write {name}=… out in the launch")
            elif not kernel.autotune:
                default = next(p.default for p in kernel.params if p.name == name)
                if default is None:
                    fact = f"{launch.name} is launched without {name}"
                    self._source.fail(launch.call, fact, f"give it {name}=…")
                self._tracer.default(launch.call, default, name, name)

    def _trace_names(self, host: cst.FunctionDef) -> None:
        """Find the constants that have the name of a param in `host`."""
        for name in self._options.params:
            for node, bindings in named_constants(self._source, host, name):
                self._tracer.bindings(node, bindings, name)
        for node in self._attributes(host):
            if not self._is_set(node):
                self._tracer.expression(node, node.attr.value)

    def _attributes(self, host: cst.FunctionDef) -> Iterator[cst.Attribute]:
        """Yield the attributes of `self` or of a class in `host` that have the name of a param."""
        for node in self._source.within(host.body):
            named = isinstance(node, cst.Attribute) and node.attr.value in self._params
            if isinstance(node, cst.Attribute) and named and self._functions.class_of(node.value):
                yield node

    def _is_set(self, node: cst.CSTNode) -> bool:
        return isinstance(self._source.parent(node), cst.AssignTarget | cst.Element)

    def _nothing_missing(self, autotuned: Sequence[Kernel]) -> None:
        for name in self._options.params:
            if name in self._tracer.values or any(kernel.takes(name) for kernel in autotuned):
                continue
            for launch in self._launches:
                if launch.kernel and launch.kernel.takes(name):
                    fact = (
                        f"{launch.name} takes {name}, and is not launched by what takes the config"
                    )
                    remedy = f"let {self._entries[0].name.value} call it by its name"
                    self._source.fail(launch.call, fact, remedy)
            known = listed(sorted(self._seen_names()), most=12) or "none"
            raise ConvertError(
                f"no constant {name} is found, which config_param_names lists",
                where=self._source.where(self._entries[0]),
                remedy=f"correct it there; the constants that launches take are {known}",
            )

    def _seen_names(self) -> set[str]:
        return {p.name for kernel in self._kernels for p in kernel.params if p.constexpr}

    def _tuned(self, launches: Sequence[Launch]) -> Iterator[Tuned]:
        """Yield what becomes of the arguments of the launches."""
        given = {
            name: [launch for launch in launches if launch.arguments.get(name)]
            for name in self._options.launch
        }
        for name, those in given.items():
            for launch in those:
                argument = launch.arguments.get(name)
                assert argument is not None  # noqa: S101 (looked up above)
                self._tracer.expression(argument.value, name)
        for launch in launches:
            auto = launch.kernel is not None and launch.kernel.autotune is not None
            added = [
                name
                for name in self._options.params
                if auto and launch.kernel and launch.kernel.takes(name)
                if launch.arguments.get(name) is None
            ]
            for name, those in given.items():
                hidden = launch.arguments.hidden
                if not those and hidden and hidden.star == "**":
                    fact = f"**{self._source.code(hidden.value)} may hide {name}"
                    self._source.fail(launch.call, fact, f"write {name}=… out in the launch")
                if launch.arguments.get(name) is None and (auto or not those):
                    added.append(name)
            yield self._arranged(launch, added)

    def _arranged(self, launch: Launch, added: list[str]) -> Tuned:
        """Decide whether `launch` gets the values one by one or all at once."""
        added += [k for (c, k) in self._tracer.additions if c == id(launch.call)]
        names = {*self._params, *self._options.launch, *self._options.backend}
        own = [argument for argument in launch.arguments.named if argument.name in names]
        kernel = launch.kernel
        fits = (
            all(argument.arg and not argument.positional for argument in own)
            and all(kernel is None or kernel.takes(name) for name in self._params)
            and {*self._params, *self._options.launch} <= {*added, *(a.name for a in own)}
        )
        must = self._options.backend or self._options.partial
        if must and not fits:
            what = listed(self._options.backend or self._options.partial).replace("'", "")
            fact = (
                f"{what} reaches a launch by **config.all_kwargs() alone, and this one does not fit"
            )
            remedy = (
                "give the kernel each param of the config by its name and no other way, or set "
                "these options in every candidate"
            )
            self._source.fail(launch.call, fact, remedy)
        literal = all(
            isinstance(argument.value, cst.Attribute) or id(argument.value) in self._tracer.seeds
            for argument in own
        )
        commented = any("#" in self._source.module.code_for_node(a.arg) for a in own if a.arg)
        whole = bool(fits and (must or (literal and not commented)))
        dropped = tuple(argument.arg for argument in own if argument.arg) if whole else ()
        return Tuned(launch=launch, added=tuple(added), whole=whole, dropped=dropped)

    def _needing(
        self, tuned: Sequence[Tuned], uses: Uses, found: Sequence[Repeat]
    ) -> list[cst.FunctionDef]:
        """Return the functions in which something reads the config."""
        nodes: list[cst.CSTNode] = [item.launch.call for item in tuned if item.added or item.whole]
        nodes += [addition.call for addition in self._tracer.additions.values()]
        nodes += [repeat.node for repeat in found]
        nodes += [node for node, _ in uses.inline]
        nodes += [host for host, _, _ in uses.moved]
        nodes += [
            seed.node
            for seed in self._tracer.seeds.values()
            if seed.cell is None or seed.cell.kind == "local"
        ]
        found_in: dict[int, cst.FunctionDef] = {}
        for node in nodes:
            host = self._source.host(node)
            if host is None or not self._tracer.reaches(node):
                fact = f"{self._source.code(node)} stands outside of what takes the config"
                self._source.fail(node, fact, f"write it in {self._entries[0].name.value}")
            found_in[id(host)] = host
        return [*found_in.values()]

    def _handed(
        self, needing: list[cst.FunctionDef]
    ) -> tuple[tuple[cst.FunctionDef, ...], tuple[CallSite, ...]]:
        """Return the functions that are handed the config, and the calls that do it."""
        helpers: list[cst.FunctionDef] = []
        handed: list[CallSite] = []
        for function in needing:  # it grows meanwhile
            refuse_config(self._source, function)
            if any(function is entry for entry in self._entries):
                continue
            helpers.append(function)
            for use in self._functions.uses_of(function):
                fact = (
                    f"{function.name.value} needs the config, and is not called here but passed on"
                )
                self._source.fail(use, fact, "call it by its name")
            for site in self._functions.calls_of(function):
                host = self._source.host(site.call)
                if host is None or not self._tracer.reaches(site.call):
                    fact = f"{function.name.value} needs the config, and this call has none"
                    remedy = f"call it from {self._entries[0].name.value} alone"
                    self._source.fail(site.call, fact, remedy)
                handed.append(site)
                if all(host is not known for known in needing):
                    needing.append(host)
        return tuple(helpers), tuple(handed)
