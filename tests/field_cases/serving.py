#!/usr/bin/env python3
"""A service whose calls change their shapes, restarted for each call: what is compiled, and what runs.

usage: serving.py TCC OUT
Sources: pytorch/pytorch#172547, #150706, #57894, PaddlePaddle/PaddleX#5057 (a new shape or a new process stalls the service);
NVIDIA/TensorRT-LLM#6142 (past the limit of recompilations the slow path runs for good). Counts, no times.
"""
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

failures = 0


def check(condition, text):
    global failures
    if not condition:
        failures += 1
        print(f"FAILED: {text}")


class Service:
    """y = softmax(x + x) over two open axes; every call is a process of its own."""

    def __init__(self, tcc, folder):
        self.tcc, self.folder = tcc, folder
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", "columns"]) for name in "xy")
        nodes = [helper.make_node("Add", ["x", "x"], ["s"]), helper.make_node("Softmax", ["s"], ["y"])]
        self.model = os.path.join(folder, "model.onnx")
        onnx.save(helper.make_model(helper.make_graph(nodes, "g", [x], [y]), opset_imports=[helper.make_opsetid("", 21)], ir_version=10), self.model)
        os.environ["TCC_CACHE_DIR"] = os.path.join(folder, "cache")

    def json(self, command, *arguments):
        run = subprocess.run([self.tcc, command, self.model, *arguments, "--json"], capture_output=True, text=True)
        check(run.returncode == 0, f"{command} {arguments}: exit code {run.returncode}: {run.stdout}{run.stderr}")
        return json.loads(run.stdout) if run.returncode == 0 else {}

    def call(self, shape, *options):
        """Whether the call found what it needed; its result is checked."""
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 8
        given, made = (os.path.join(self.folder, name + ".npz") for name in ("given", "made"))
        np.savez(given, x=x)
        found = self.json("run", "--input", given, "--output", made, *options).get("cache_hit")
        powers = np.exp(2 * (x - x.max(-1, keepdims=True))) if x.size else x
        wanted = powers / powers.sum(-1, keepdims=True) if x.size else x
        got = np.load(made)["y"]
        check(got.shape == wanted.shape and np.allclose(got, wanted, 1e-5, 1e-6), f"{shape} {options}: {got}, expected {wanted}")
        return found


def new_shapes(service):
    hits = [service.call((rows, 12)) for rows in (3, 4, 5, 9, 17, 33, 64, 3)]
    check(hits == [False, False] + [True] * 6, f"the first shape and a symbol are compiled, nothing else: {hits}")
    hits = [service.call((rows, columns)) for rows, columns in ((3, 20), (8, 21), (50, 5), (12, 12))]
    check(hits == [False] + [True] * 3, f"a second axis that varies is one more compile: {hits}")


def past_the_limit(service):
    # Extents of 0 and 1 would each be worth a specialisation of their own.
    shapes = [(2, 3), (1, 3), (4, 1), (1, 1), (0, 5), (7, 9), (1, 6), (2, 1)]
    hits = [service.call(shape, "--recompile-limit", "2") for shape in shapes]
    check(hits.count(False) <= 3, f"a limit of 2 and the general form are at most 3 compiles: {hits}")
    check(all(service.call(shape, "--recompile-limit", "2") for shape in shapes), "a second round compiles something")
    graphs = service.json("explain", "--input", "x=f32[1,6]", "--recompile-limit", "2").get("graphs", [])
    check(graphs and all(g["kernels_generated"] > 0 and g["kernels_library"] == 0 for g in graphs), f"the general form is no generated code: {graphs}")


def main():
    tcc, out = sys.argv[1:3]
    for work in (new_shapes, past_the_limit):
        work(Service(tcc, os.path.join(out, work.__name__)))
    print(f"{failures} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
