"""Small models as ONNX backend test folders, for `tcc test`: the vocabulary of the case files.

A case file defines cases(add). `add` writes one folder: a model, one or more data sets with the values that must come out (written down
from the specification or from the cited report, never computed by tcc), or the error that must be reported.
"""
import os
import re
import shutil
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ALL = ("static", "dynamic", "constant-inputs")
AT_RUN_TIME = ("static", "dynamic")
# The element types that differ only in themselves: these siblings run in one of the variants, which the name picks.
SIBLINGS = re.compile("float64|float16|bfloat16|u?int8|u?int16|uint32|uint64|bool")


def node(op, inputs, outputs="y", **attributes):
    """A node; names are separated by blanks, `_` stands for an absent one."""
    split = lambda names: ["" if n == "_" else n for n in names.split()] if isinstance(names, str) else names
    return helper.make_node(op, split(inputs), split(outputs), **attributes)


def dtype_of(array):
    return TensorProto.STRING if np.asarray(array).dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(np.asarray(array).dtype)


def info(name, array, shape="from the array"):
    array = np.asarray(array)
    return helper.make_tensor_value_info(name, dtype_of(array), list(array.shape) if isinstance(shape, str) else shape)


def tensor(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


class Group:
    """The cases of one file, below a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.cases = {}  # name -> (variants, error pattern or None)
        shutil.rmtree(folder, ignore_errors=True)

    def add(self, name, nodes, inputs, outputs=None, *, opset=21, constants=None, shapes=None, error=None, variants=ALL, more=(),
            ir_version=10, functions=(), domains=(), change=None, output_shapes=None):
        """inputs, outputs, constants: name -> array. shapes: declared shapes of inputs, where they are not those of the arrays.
        error: a pattern of the message that must be reported instead of results. more: further data sets for the same session.
        change: called with the ModelProto before it is written."""
        assert name not in self.cases, name
        nodes = nodes if isinstance(nodes, list) else [nodes]
        folder = os.path.join(self.folder, name)
        outputs = outputs or {nodes[-1].output[0]: np.float32(0)}
        graph = helper.make_graph(
            nodes, name, [info(n, a, (shapes or {}).get(n, "from the array")) for n, a in inputs.items()],
            [info(n, a, (output_shapes or {}).get(n, [None] * np.ndim(a))) for n, a in outputs.items()],
            [tensor(n, a) for n, a in (constants or {}).items()])
        imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, v) for d, v in domains]
        model = helper.make_model(graph, opset_imports=imports, ir_version=ir_version, functions=list(functions))
        if change:
            change(model)
        os.makedirs(folder)
        onnx.save(model, os.path.join(folder, "model.onnx"))
        for k, (given, wanted) in enumerate([(inputs, outputs), *more]):
            data = os.path.join(folder, f"test_data_set_{k}")
            os.makedirs(data)
            for kind, values in (("input", given), ("output", wanted)):
                for i, (n, value) in enumerate(values.items()):
                    with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as f:
                        f.write(tensor(n, value).SerializeToString())
        if variants is ALL and SIBLINGS.search(name):
            variants = (ALL[zlib.crc32(name.encode()) % 3],)
        self.cases[name] = (variants, error)
