#!/usr/bin/env python3
"""A model of more than 4 GiB whose table has more than 2^32 elements: compiled, cached, packaged, read at far offsets.

usage: large.py TCC OUT     writes 4.7 GB (sparse) below OUT, and a package of as much; only where TCC_LARGE_TESTS is set
Sources: microsoft/onnxruntime#4424 (models over 2 GB), microsoft/onnxruntime#28107 (offsets past 2^31 elements). Zip archives of more than 4 GiB need other records.
"""
import os
import subprocess
import sys

import numpy as np
import onnx
from field import info, node
from onnx import TensorProto, helper

ROWS, COLUMNS = 524288, 8960
FAR = [0, 239674, 239675, 479349, 524287]  # byte 2^31 lies within row 239674, byte 2^32 within row 479349


def element(row, column):
    return ((row * 31 + column * 7) % 251).astype(np.uint8)


def save(folder, name, nodes, inputs, outputs):
    table = TensorProto(name="table", data_type=TensorProto.UINT8, dims=[ROWS, COLUMNS], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "table.bin"), ("offset", "0"), ("length", str(ROWS * COLUMNS))):
        table.external_data.add(key=key, value=value)
    graph = helper.make_graph(nodes, name, [info(n, v) for n, v in inputs.items()], [info(n, v) for n, v in outputs.items()], [table])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), os.path.join(folder, name + ".onnx"))
    np.savez(os.path.join(folder, name + ".npz"), **inputs, **outputs)


def main():
    tcc, folder = sys.argv[1:]
    if not os.environ.get("TCC_LARGE_TESTS"):
        print("set TCC_LARGE_TESTS to run it")
        sys.exit(77)
    os.makedirs(folder, exist_ok=True)
    columns = np.arange(COLUMNS)
    with open(os.path.join(folder, "table.bin"), "wb") as f:
        f.truncate(ROWS * COLUMNS)
        for row in FAR:
            f.seek(row * COLUMNS)
            f.write(element(np.full(COLUMNS, row), columns).tobytes())
    rows = np.array(FAR[::-1])
    picked = element(rows[:, None], columns[None])
    save(folder, "gather", [node("Gather", "table i", axis=0)], {"i": rows}, {"y": picked})
    save(folder, "gather_fused", [node("Gather", "table i", "g", axis=0), node("Cast", "g", "f", to=TensorProto.FLOAT), node("Sqrt", "f")],
         {"i": rows}, {"y": np.sqrt(picked.astype(np.float32))})
    # Every element from a row of its own: indices that only vectors of 64-bit offsets reach.
    mixed = rows[columns % 5].reshape(1, COLUMNS)
    save(folder, "gather_elements", [node("GatherElements", "table i", axis=0)], {"i": mixed}, {"y": element(mixed, columns[None])})
    save(folder, "slice", [node("Slice", "table start end")], {"start": np.array([FAR[2], 5]), "end": np.array([FAR[2] + 1, 5 + 64])},
         {"y": element(np.full((1, 64), FAR[2]), columns[None, 5:69])})
    save(folder, "gather_out_of_range", [node("Gather", "table i", axis=0)], {"i": np.array([ROWS])}, {"y": picked[:1]})

    def tcc_run(model, data, *more):
        return subprocess.run([tcc, "run", os.path.join(folder, model), "--input", os.path.join(folder, data + ".npz"), "--expect",
                               os.path.join(folder, data + ".npz"), "--max-error", "1e-6", *more], capture_output=True, text=True)

    errors = []
    for name in ("gather", "gather_fused", "gather_elements", "slice"):
        for again in ("", " from the cache"):
            done = tcc_run(name + ".onnx", name)
            if done.returncode:
                errors.append(f"{name}{again}: {done.stderr}{done.stdout}")
    done = tcc_run("gather_out_of_range.onnx", "gather_out_of_range")
    if done.returncode == 0 or "out of range" not in done.stderr:
        errors.append(f"gather_out_of_range: {done.stderr}{done.stdout}")
    package = os.path.join(folder, "gather_fused.tcc")
    done = subprocess.run([tcc, "compile", os.path.join(folder, "gather_fused.onnx"), "--output", package], capture_output=True, text=True)
    if done.returncode:
        errors.append(f"compile: {done.stderr}{done.stdout}")
    else:
        done = tcc_run("gather_fused.tcc", "gather_fused")
        if done.returncode:
            errors.append(f"package: {done.stderr}{done.stdout}")
        os.remove(package)
    os.remove(os.path.join(folder, "table.bin"))
    print("\n".join(errors) or "all as expected")
    sys.exit(1 if errors else 0)


main()
