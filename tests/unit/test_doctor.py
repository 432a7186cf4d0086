"""The doctor's findings: for each fault of a machine what is wrong, and what to type."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import integer, leaf, manifest_of, tree

from codegen.command import exit_status
from codegen.errors import ManifestError
from codegen.manifest import dump_manifest
from tuner.cli import cli
from tuner.devices.names import DeviceName
from tuner.devices.npu.cann import Cann
from tuner.doctor import diagnose, find_manifests, lines
from tuner.doctor.diagnosis import findings_of, likely_device, targets_of
from tuner.doctor.found import AUTOLOAD_OFF, UNKNOWN, Device, Found, Import
from tuner.doctor.manifests import match_manifests
from tuner.doctor.report import json_text
from tuner.doctor.versions import parts, public
from tuner.records import Target

NPU, CUDA, CPU = DeviceName("npu", 0), DeviceName("cuda", 0), DeviceName("cpu")
HOME = Path("/opt/cann-8.5.0")
H200 = Device(name="NVIDIA H200", arch="sm_90")
GPU = Found(
    python="3.12.3",
    processor=Device(name="Xeon", arch="x86_64"),
    driver="570.86",
    distributions={"numpy": "2.4.6", "torch": "2.13.0+cu130", "triton": "3.9.0"},
    imports={
        "numpy": Import(version="2.4.6"),
        "torch": Import(version="2.13.0+cu130", cuda="13.0", available=True, devices=(H200, H200)),
        "triton": Import(version="3.9.0"),
    },
)
ASCEND = Found(
    python="3.11.9",
    processor=Device(name="Kunpeng", arch="aarch64"),
    environment={"ASCEND_HOME_PATH": str(HOME)},
    cann=Cann(home=HOME, by="ASCEND_HOME_PATH", version="8.5.0", script=HOME / "set_env.sh"),
    msprof=str(HOME / "bin" / "msprof"),
    nodes=("/dev/davinci0", "/dev/davinci1"),
    distributions={
        "numpy": "2.2.6",
        "torch": "2.7.1",
        "torch_npu": "2.7.1.post1",
        "triton-ascend": "3.2.0",
        "pybind11": "3.0.1",
    },
    torch_pin="2.7.1",
    imports={
        "numpy": Import(version="2.2.6"),
        "torch": Import(version="2.7.1"),
        "torch_npu": Import(
            version="2.7.1.post1", available=True, devices=(Device(name="Ascend910B3"),) * 2
        ),
        "triton": Import(version="3.2.0"),
    },
)


def without(found: Found, *packages: str, **imports: Import) -> Found:
    """Return the machine without these packages, and with these imports."""
    kept = {k: v for k, v in found.distributions.items() if k not in packages}
    seen = {k: v for k, v in found.imports.items() if k not in packages}
    return replace(found, distributions=kept, imports={**seen, **imports})


def having(found: Found, packages: dict[str, str], **imports: Import) -> Found:
    """Return the machine with these packages, and these imports."""
    return replace(
        found,
        distributions={**found.distributions, **packages},
        imports={**found.imports, **imports},
    )


def said(found: Found, device: DeviceName) -> list[str]:
    """Return the findings, each with its level."""
    return [f"{one.level} {one}" for one in findings_of(found, device)]


@pytest.mark.parametrize(("found", "device"), [(GPU, CUDA), (ASCEND, NPU), (GPU, CPU)])
def test_a_sound_machine_has_no_findings(found: Found, device: DeviceName) -> None:
    """Nothing is said of what is well."""
    assert said(found, device) == []
    assert diagnose(found, device, ()).usable


AUTOLOAD = Import(error="RuntimeError: Failed to load the backend (libhccl.so: not there)")
BROKEN = having(
    ASCEND,
    {},
    torch=AUTOLOAD,
    torch_npu=Import(error="libhccl.so: not there"),
    **{AUTOLOAD_OFF: Import(version="2.7.1")},
)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            having(replace(ASCEND, nodes=()), {}, torch_npu=Import(version="2.7.1")),
            ["error driver: there is no device file /dev/davinci0; install Ascend's driver, or"],
        ),
        (
            replace(ASCEND, cann=None, environment={}),
            [
                "error cann: is not found by ASCEND_HOME_PATH",
                "then type: source /usr/local/Ascend/",
            ],
        ),
        (
            replace(BROKEN, environment={}),
            [
                f"error cann: {HOME} is not set up in this shell; type: source {HOME}/set_env.sh",
                "error torch: loads torch_npu with it, and cannot: RuntimeError: Failed to load",
                "for torch without the NPU: export TORCH_DEVICE_BACKEND_AUTOLOAD=0",
            ],
        ),
        (
            replace(ASCEND, environment={}),
            [f"warning cann: {HOME} is not set up in this shell; type: source {HOME}/set_env.sh"],
        ),
        (
            replace(ASCEND, cann=replace(ASCEND.cann, version="8.1.RC1")),  # type: ignore[type-var]
            ["warning cann: is 8.1.RC1, and triton-ascend 3.2.0 is documented with 8.5.0; install"],
        ),
        (
            without(ASCEND, "torch", torch_npu=Import(error="No module named 'torch'")),
            ["error torch: is not installed; type: pip install torch==2.7.1"],
        ),
        (
            having(ASCEND, {}, torch=Import(error="SyntaxError: invalid")),
            ["error torch: cannot be imported: SyntaxError: invalid; install it anew"],
        ),
        (
            replace(without(ASCEND, "torch_npu"), torch_pin=None),
            ["error torch_npu: is not installed; type: pip install torch_npu==2.7.1"],
        ),
        (
            having(ASCEND, {"torch": "2.13.0+cpu"}),
            [
                "error torch_npu: 2.7.1.post1 was built for torch 2.7.1, and 2.13.0+cpu is inst",
                "; type: pip install torch==2.7.1",
            ],
        ),
        (
            having(ASCEND, {}, torch_npu=Import(error="ImportError: libascendcl.so")),
            ["error torch_npu: cannot be imported: ImportError: libascendcl.so; a library of CA"],
        ),
        (
            having(replace(ASCEND, torch_pin="2.13.0"), {"torch": "2.13.0", "torch_npu": "2.13.0"}),
            ["warning torch_npu: is 2.13.0, and triton-ascend 3.2.0 is documented with 2.7.1; ins"],
        ),
        (
            without(ASCEND, "triton-ascend", "triton"),
            ["error triton-ascend: is not installed; type: pip install triton-ascend==3.2.0 py"],
        ),
        (
            having(without(ASCEND, "triton-ascend"), {"triton": "3.9.0"}),
            [
                "error triton-ascend: is not installed, but triton is, which knows no NPU; type: ",
                "pip uninstall -y triton && pip install triton-ascend==3.2.0 pybind11",
            ],
        ),
        (
            having(ASCEND, {"triton": "3.9.0"}, triton=Import(error="ImportError: libtriton")),
            [
                "error triton: 3.9.0 and triton-ascend 3.2.0 overwrite each other's files; type: ",
                "pip uninstall -y triton triton-ascend && pip install triton-ascend==3.2.0",
                "error triton-ascend: cannot be imported: ImportError: libtriton; type: pip inst",
            ],
        ),
        (
            replace(ASCEND, msprof=None),
            ["warning msprof: is not on the PATH", f": events would be used; type: source {HOME}"],
        ),
        (
            replace(ASCEND, environment={**ASCEND.environment, "PROFILING_MODE": "dynamic"}),
            ["warning PROFILING_MODE: is set, and the profiler does nothing then; type: unset"],
        ),
        (
            without(ASCEND, "pybind11", triton=Import(error="No module named 'pybind11'")),
            ["error pybind11: is missing, and triton-ascend needs it; type: pip install pybind11"],
        ),
        (
            having(ASCEND, {"numpy": "2.4.0"}),
            ["warning numpy: is 2.4.0: from 2.4 on", '; type: pip install "numpy<2.4"'],
        ),
        (
            replace(ASCEND, python="3.12.1"),
            ["warning python: is 3.12.1, and triton-ascend 3.2.0 is made for 3.9 to 3.11; make"],
        ),
        (
            replace(without(ASCEND, "triton-ascend", "triton"), python="3.12.1"),
            ["error triton-ascend: is not installed", "error python: is 3.12.1, and triton-ascend"],
        ),
        (
            having(
                replace(
                    ASCEND, environment={"ASCEND_HOME_PATH": "", "ASCEND_RT_VISIBLE_DEVICES": ""}
                ),
                {},
                torch_npu=Import(version="2.7.1"),
            ),
            ["error npu: torch_npu sees no device; ASCEND_RT_VISIBLE_DEVICES is ''; type: npu-smi"],
        ),
    ],
)
def test_each_fault_of_an_npu_is_found_with_what_to_type(found: Found, words: list[str]) -> None:
    """And nothing else is: a fault that follows from another is not said twice."""
    text = "\n".join(said(found, NPU))
    for part in words:
        assert part in text
    assert len(text.splitlines()) == sum(part.startswith(("error", "warning")) for part in words)


def test_an_index_beyond_the_devices_is_an_error() -> None:
    """With the last that there is."""
    found = said(ASCEND, DeviceName("npu", 2))
    words = "error npu:2: torch_npu sees 2 devices, npu:1 the last; name another with --device, or "
    assert found == [f"{words}make it visible"]
    assert said(GPU, DeviceName("cuda", 7))[0].startswith(
        "error cuda:7: torch sees 2 devices, cuda"
    )


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            having(replace(GPU, driver=None), {}, torch=Import(version="2.13.0", cuda="13.0")),
            [
                "error driver: nvidia-smi is not there",
            ],
        ),
        (
            without(GPU, "torch"),
            ["error torch: is not installed; type: pip install torch"],
        ),
        (
            having(GPU, {}, torch=Import(version="2.13.0+cpu")),
            ["error torch: 2.13.0+cpu is built without CUDA; install torch's build for CUDA"],
        ),
        (
            having(GPU, {}, torch=AUTOLOAD, **{AUTOLOAD_OFF: Import(version="2.13.0")}),
            [
                "error torch: loads a backend with it, and cannot: RuntimeError: ",
                "; type: export TORCH_DEVICE_BACKEND_AUTOLOAD=0",
            ],
        ),
        (
            without(GPU, "triton"),
            ["error triton: is not installed; type: pip install triton"],
        ),
        (
            having(without(GPU, "triton"), {"triton-ascend": "3.2.0"}),
            [
                "error triton: is not installed, but triton-ascend is",
                "type: pip uninstall -y trit",
            ],
        ),
        (
            having(GPU, {"triton-ascend": "3.2.0"}),
            ["error triton: 3.9.0 and triton-ascend 3.2.0", "&& pip install triton==3.9.0"],
        ),
        (
            having(GPU, {}, triton=Import(error="no end after 60 s")),
            ["error triton: cannot be imported: no end after 60 s; type: pip install --force"],
        ),
        (
            having(
                replace(GPU, environment={"CUDA_VISIBLE_DEVICES": "9"}),
                {},
                torch=Import(version="2.13.0", cuda="13.0"),
            ),
            [
                "error cuda: torch sees no device",
                "driver 570.86; CUDA_VISIBLE_DEVICES is '9'",
            ],
        ),
    ],
)
def test_each_fault_of_a_gpu_is_found_with_what_to_type(found: Found, words: list[str]) -> None:
    """And nothing else is."""
    text = "\n".join(said(found, CUDA))
    for part in words:
        assert part in text
    assert len(text.splitlines()) == sum(part.startswith(("error", "warning")) for part in words)


def test_a_cpu_needs_numpy_and_can_do_without_torch() -> None:
    """A torch that cannot be imported is warned of: kernels in it cannot be tuned."""
    assert said(without(GPU, "torch", "triton"), CPU) == []
    assert said(without(GPU, "numpy"), CPU) == [
        "error numpy: is not installed; type: pip install numpy"
    ]
    assert said(having(GPU, {}, torch=Import(error="E: x")), CPU) == [
        "warning torch: cannot be imported: E: x; kernels in numpy can be tuned without it"
    ]
    text = said(BROKEN, CPU)[0]
    assert text.startswith("warning torch: cannot be imported: RuntimeError: Failed to load")
    assert text.endswith("; type: export TORCH_DEVICE_BACKEND_AUTOLOAD=0")
    assert diagnose(BROKEN, CPU, ()).usable


def test_a_package_of_unknown_version_is_not_said_to_be_a_wrong_one() -> None:
    """It is there without having been installed, as from a checkout."""
    assert said(having(ASCEND, {"torch": UNKNOWN}), NPU) == []


@pytest.mark.parametrize(
    ("found", "device"),
    [
        (GPU, CUDA),
        (ASCEND, NPU),
        (without(GPU, "torch", "triton"), CUDA),
        (replace(without(GPU, "torch"), driver=None), CPU),
        (replace(GPU, driver=None), CUDA),
        (Found(python="3.11.9", processor=GPU.processor, nodes=("/dev/davinci0",)), NPU),
        (Found(python="3.11.9", processor=GPU.processor), CPU),
    ],
)
def test_the_device_is_what_the_machine_is_for(found: Found, device: DeviceName) -> None:
    """By what is installed there, whether it works or not."""
    assert likely_device(found) == device
    assert diagnose(found, None, ()).device == device


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("2.13.0+cpu", (2, 13)), ("8.1.RC1", (8, 1)), ("3", (3,)), ("unknown", ()), ("", ())],
)
def test_versions_are_compared_by_their_numbers(version: str, numbers: tuple[int, ...]) -> None:
    """What is no number ends it; a build's own mark does not count."""
    assert parts(version) == numbers
    assert public("2.13.0+cpu") == "2.13.0"


# ---- Manifests ----------------------------------------------------------------------------------


def write_manifest(path: Path, device: str, arch: str | None = None, **tools: str) -> Path:
    """Write a manifest that was tuned on `device` with these tools."""
    manifest = manifest_of(axes=[integer("N", 1, 8)], selector=tree(leaf(0)))
    target = manifest.target.model_copy(
        update={
            "device": device,
            "arch": arch,
            "toolchain": {k.replace("_", "-"): v for k, v in tools.items()},
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump_manifest(manifest.model_copy(update={"target": target})))
    return path


HERE = "; here is NVIDIA H200 (sm_90), Xeon (x86_64)"
H200_TOOLS = {"cuda": "13.0", "torch": "2.13.0+cu130", "triton": "3.9.0"}


def test_targets_are_what_could_be_tuned_on_here() -> None:
    """Each device with the tools that a manifest would name; one alone if one is asked for."""
    gpu = Target(device="NVIDIA H200", arch="sm_90", toolchain=tuple(sorted(H200_TOOLS.items())))
    assert targets_of(GPU, CUDA) == (gpu,)
    assert [target.device for target in targets_of(GPU, None)] == ["NVIDIA H200"] * 2 + ["Xeon"]
    (npu,) = targets_of(ASCEND, NPU)
    assert (npu.device, npu.arch) == ("Ascend910B3", "ascend910b3")
    assert dict(npu.toolchain) == {
        "cann": "8.5.0",
        "torch": "2.7.1",
        "torch_npu": "2.7.1.post1",
        "triton-ascend": "3.2.0",
    }
    (cpu,) = targets_of(ASCEND, CPU)
    assert dict(cpu.toolchain) == {"numpy": "2.2.6", "python": "3.11.9", "torch": "2.7.1"}
    assert targets_of(BROKEN, NPU) == ()


@pytest.mark.parametrize(
    ("device", "arch", "tools", "reasons"),
    [
        ("NVIDIA H200", "sm_90", H200_TOOLS, ()),
        ("nvidia  h200", None, H200_TOOLS, ()),
        ("NVIDIA H200", "sm_90", {}, ()),
        (
            "NVIDIA H200",
            "sm_90",
            {**H200_TOOLS, "triton": "3.6.0", "nvcc": "12"},
            ("tuned with nvcc 12; here is none", "tuned with triton 3.6.0; here is 3.9.0"),
        ),
        ("NVIDIA H200", "sm_80", H200_TOOLS, ("tuned on NVIDIA H200 (sm_80)" + HERE,)),
        ("NVIDIA A100", "sm_80", H200_TOOLS, ("tuned on NVIDIA A100 (sm_80)" + HERE,)),
        (
            "NVIDIA H200",
            "sm_90",
            {**H200_TOOLS, "replay": "0123"},
            ("replayed from a table of NVIDIA H200, and not tuned on it",),
        ),
    ],
)
def test_a_manifest_is_for_a_machine_with_its_device_and_tools(
    tmp_path: Path,
    device: str,
    arch: str | None,
    tools: dict[str, str],
    reasons: tuple[str, ...],
) -> None:
    """Names may be spelled otherwise; a tool that it does not name does not matter."""
    path = write_manifest(tmp_path / "manifest.json", device, arch, **tools)
    (match,) = match_manifests([path], targets_of(GPU, None))
    assert match.device == device
    assert match.reasons == reasons


def test_a_manifest_that_cannot_be_read_is_a_reason(tmp_path: Path) -> None:
    """The others are looked at all the same."""
    bad = tmp_path / "manifest.json"
    bad.write_text("{")
    good = write_manifest(tmp_path / "a" / "manifest.json", "NVIDIA H200", "sm_90")
    first, second = match_manifests([bad, good], targets_of(GPU, CUDA))
    assert first.device is None
    assert first.reasons[0].startswith("cannot be read: ")
    assert second.reasons == ()


def test_manifests_are_found_a_few_levels_down(tmp_path: Path) -> None:
    """In order; not in hidden directories, and not at any depth."""
    for place in ("b", "a", ".hidden", "a/b/c/d", "a/b/c/d/e"):
        write_manifest(tmp_path / place / "manifest.json", "x")
    other = write_manifest(tmp_path / "other.json", "x")
    found = [str(path.relative_to(tmp_path)) for path in find_manifests([tmp_path, other, other])]
    assert found == ["a/manifest.json", "a/b/c/d/manifest.json", "b/manifest.json", "other.json"]
    with pytest.raises(ManifestError, match="none: no such file or directory; name a manifest"):
        find_manifests([tmp_path / "none"])


# ---- The command --------------------------------------------------------------------------------


def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    found: Found,
    *arguments: object,
) -> tuple[int, str, str]:
    """Run `tuner doctor` on a machine that is made up."""
    monkeypatch.setattr("tuner.doctor.look", lambda: found)
    monkeypatch.setattr("sys.argv", ["tuner", "doctor", *map(str, arguments)])
    status = exit_status(cli, "tuner")
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_the_report_ends_with_the_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What there is, what is wrong, what the manifests are to it; status 1 for a broken one."""
    monkeypatch.chdir(tmp_path)
    write_manifest(tmp_path / "case" / "manifest.json", "Ascend910B3", "ascend910b3", torch="2.7.1")
    status, out, err = run(monkeypatch, capsys, ASCEND)
    assert (status, err) == (0, "")
    assert out.splitlines()[-2:] == [
        "manifest      case/manifest.json: for this machine, Ascend910B3",
        "device        npu:0: usable",
    ]
    assert f"cann          8.5.0, {HOME}\n" in out
    assert "npu:1         Ascend910B3\n" in out
    status, out, err = run(monkeypatch, capsys, BROKEN, "--device", "npu:0")
    assert (status, err) == (1, "")
    assert "torch         2.7.1, cannot be imported\n" in out
    assert out.splitlines()[-1] == "device        npu:0: not usable"
    assert "error         torch: loads torch_npu with it" in out


def test_the_report_is_json_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With all that the lines say, by names."""
    path = write_manifest(tmp_path / "manifest.json", "NVIDIA H200", "sm_90", triton="3.6.0")
    status, out, err = run(monkeypatch, capsys, GPU, "--json", "--device", "cuda:1", path)
    value: Any = json.loads(out)
    assert (status, err) == (0, "")
    assert (value["device"], value["usable"], value["findings"]) == ("cuda:1", True, [])
    assert value["found"]["packages"]["triton"] == "3.9.0"
    assert value["manifests"] == [
        {
            "path": str(path),
            "device": "NVIDIA H200",
            "reasons": ["tuned with triton 3.6.0; here is 3.9.0"],
        }
    ]
    broken = json.loads(json_text(diagnose(BROKEN, NPU, ())))
    assert broken["findings"][0]["level"] == "error"
    assert broken["found"]["cann"]["home"] == str(HOME)


def test_what_others_wrote_cannot_move_the_cursor() -> None:
    """A variable with control characters is escaped."""
    found = replace(GPU, environment={"CUDA_VISIBLE_DEVICES": "\x1b[2J\n0"})
    text = list(lines(diagnose(found, CUDA, ())))
    assert any(r"CUDA_VISIBLE_DEVICES=\x1b[2J 0" in line for line in text)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--device", "tpu"), "--device: 'tpu' is not a device"),
        (("--device", "npu:0,npu:1"), "--device: npu:0,npu:1 is not one device; write npu:0"),
        (("--device", "replay:t.json"), "--device: replay:t.json is not one device"),
        (("none",), "none: no such file or directory"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    """Before the machine is looked at."""
    monkeypatch.chdir(tmp_path)
    status, out, err = run(monkeypatch, capsys, GPU, *arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
