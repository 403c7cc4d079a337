#!/usr/bin/env python3
"""Compiles all kernels of models for GPU architectures, without a GPU: no warning (that is an error of tcc's), no spilled register.

usage: compile_zoo.py [--precision P] [--models a,b] [--most-spilled BYTES] TCC ZOO_DIR ARCH...
ZOO_DIR holds NAME.onnx and NAME.npz. Each architecture is a target of its own, since schedules may choose by it. Kernels of equal text
are compiled once, through the cache ($TCC_CACHE_DIR). Prints a line for each architecture. Exit code 77: there is no NVRTC.
"""
import argparse, glob, json, os, subprocess, sys, tempfile


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--precision", default="model")
    p.add_argument("--models")
    p.add_argument("--most-spilled", type=int, default=0, help="bytes of a thread")
    p.add_argument("tcc")
    p.add_argument("zoo")
    p.add_argument("archs", nargs="+")
    return p.parse_args()


class NoNvrtc(Exception):
    pass


def resources_of(a, model, arch, package):
    """What the assembler says of each kernel of a model: ({kernel: record}, None), or (None, why not)."""
    def run(*command):
        done = subprocess.run([a.tcc, *command, "--json"], capture_output=True, text=True)
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            return None, f"exit code {done.returncode}: {done.stderr.strip()[-1500:]}"
        return (answer, None) if done.returncode == 0 else (None, answer["error"]["message"])

    _, error = run("compile", model, "--input", model[:-5] + ".npz", f"--target=cuda:{arch}", f"--precision={a.precision}", "--no-fallback", "-o", package)
    if error is None:
        explained, error = run("explain", package)
    if error is not None:
        if "nvidia-cuda-nvrtc" in error:
            raise NoNvrtc(error)
        return None, error
    graph = explained["graphs"][0]
    launched = {launch["kernel"] for kernel in graph["kernels"] for launch in kernel.get("device_launches", [])}
    known = {r["kernel"]: r for r in graph.get("resources", []) if r["arch"] == arch}
    if not launched or set(known) != launched:
        return None, f"{len(launched)} kernels are launched, {len(known)} were compiled for {arch}"
    return known, None


def check(a, arch, scratch):
    """A line for people, and what is wrong."""
    models = sorted(glob.glob(os.path.join(a.zoo, "*.onnx")))
    if a.models:
        models = [m for m in models if os.path.basename(m)[:-5] in a.models.split(",")]
    kernels, faults, total = {}, [], 0
    for model in models:
        name = os.path.basename(model)[:-5]
        known, error = resources_of(a, model, arch, os.path.join(scratch, f"{name}.tcc"))
        if error is not None:
            faults.append(f"{name} for {arch}: {error}")
            continue
        total += len(known)
        kernels.update(known)
        faults += [f"{name} for {arch}: kernel {k} spills {r['spill_bytes']} bytes ({r['registers']} registers)" for k, r in known.items() if r["spill_bytes"] > a.most_spilled]
    most = max((r["registers"] for r in kernels.values()), default=0)
    spilling = sum(r["spill_bytes"] > 0 for r in kernels.values())
    return f"{arch}: {len(models)} models, {total} kernels, {len(kernels)} different, at most {most} registers, {spilling} spill, {len(faults)} faults", faults


def main():
    a = arguments()
    # The wheel of the tests' own environment, where none is named.
    if "TCC_NVRTC" not in os.environ and glob.glob(f"{sys.prefix}/lib/python*/site-packages/nvidia/cu*/lib/libnvrtc.so*"):
        os.environ["TCC_NVRTC"] = sys.prefix
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        for arch in a.archs:
            try:
                line, faults = check(a, arch, scratch)
            except NoNvrtc as error:
                print(f"SKIPPED: {error}")
                sys.exit(77)
            print(line, *faults, sep="\n  ", flush=True)
            failed = failed or bool(faults)
    sys.exit(1 if failed else 0)


main()
