#!/usr/bin/env python3
"""Layers whose products are merged, on the simulated CUDA device: numbers against the interpreter, and the number of launches.

usage: merged_layers.py TCC
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

HEADS, WIDTH = 4, 8


class Layer:
    """A graph over x [batch, n, 24] of one element type, with random weights."""

    def __init__(self, dtype=np.float32):
        self.dtype, self.nodes, self.constants = dtype, [], []
        self.rng = np.random.RandomState(5)

    def op(self, kind, *inputs, **attributes):
        name = f'v{len(self.nodes)}'
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f'{kind.lower()}_{len(self.nodes)}', **attributes))
        return name

    def constant(self, value):
        name = f'c{len(self.constants)}'
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def weights(self, *extents):
        return self.constant((self.rng.randn(*extents) / np.sqrt(extents[0])).astype(self.dtype))

    def linear(self, x, columns, bias=True):
        y = self.op('MatMul', x, self.weights(24, columns))
        return self.op('Add', y, self.weights(columns)) if bias else y

    def heads(self, x, heads):
        return self.op('Transpose', self.op('Reshape', x, self.ints(0, 0, heads, WIDTH)), perm=[0, 2, 1, 3])

    def attention(self, q, k, v):
        scores = self.op('MatMul', self.op('Mul', q, self.constant(np.array(0.3, self.dtype))), self.op('Transpose', k, perm=[0, 1, 3, 2]))
        y = self.op('MatMul', self.op('Softmax', scores, axis=-1), v)
        return self.op('Reshape', self.op('Transpose', y, perm=[0, 2, 1, 3]), self.ints(0, 0, HEADS * WIDTH))

    def rms_norm(self, x):
        mean = self.op('ReduceMean', self.op('Mul', x, x), self.ints(-1), keepdims=1)
        scale = self.op('Reciprocal', self.op('Sqrt', self.op('Add', mean, self.constant(np.array(1e-3, self.dtype)))))
        return self.op('Mul', self.op('Mul', x, scale), self.weights(WIDTH))

    def rotate(self, x, cos, sin):
        half = WIDTH // 2
        low = self.op('Slice', x, self.ints(0), self.ints(half), self.ints(3))
        high = self.op('Slice', x, self.ints(half), self.ints(WIDTH), self.ints(3))
        turned = self.op('Concat', self.op('Neg', high), low, axis=3)
        return self.op('Add', self.op('Mul', x, cos), self.op('Mul', turned, sin))

    def repeat(self, x):
        """One head of keys or values for all heads of queries."""
        wide = self.op('Expand', self.op('Unsqueeze', x, self.ints(2)), self.ints(1, 1, HEADS, 1, 1))
        return self.op('Reshape', wide, self.ints(0, HEADS, -1, WIDTH))

    def model(self, y, extent):
        element = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        x = helper.make_tensor_value_info('x', element, [2, extent, 24])
        result = helper.make_tensor_value_info(y, element, None)
        graph = helper.make_graph(self.nodes, 'layer', [x], [result], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=9)


def projections():
    """Queries and values with a bias, keys without; how many there are is known only when they come."""
    layer = Layer()
    q, k, v = (layer.heads(layer.linear('x', HEADS * WIDTH, bias), HEADS) for bias in (True, False, True))
    y = layer.op('MatMul', layer.attention(q, k, v), layer.weights(HEADS * WIDTH, 24))
    return layer.model(layer.op('Add', y, 'x'), 'n')


def rotary(dtype):
    """One head of keys and values, norms of queries and keys, and a rotary embedding."""
    layer = Layer(dtype)
    q, k, v = (layer.heads(layer.linear('x', heads * WIDTH, False), heads) for heads in (HEADS, 1, 1))
    angles = np.outer(np.arange(6), 1 / 10 ** np.arange(WIDTH // 2))
    angles = np.concatenate([angles, angles], 1)[None, None]
    cos, sin = (layer.constant(f(angles).astype(dtype)) for f in (np.cos, np.sin))
    q, k = (layer.rotate(layer.rms_norm(x), cos, sin) for x in (q, k))
    y = layer.op('MatMul', layer.attention(q, layer.repeat(k), layer.repeat(v)), layer.weights(HEADS * WIDTH, 24))
    return layer.model(layer.op('Add', y, 'x'), 6)


def uneven():
    """Rows that do not begin where vectors would: each result starts at one."""
    layer = Layer()
    parts = [layer.op('Softmax', layer.linear('x', columns, bias), axis=-1) for columns, bias in ((3, True), (9, False), (4, True))]
    return layer.model(layer.op('Concat', *parts, axis=-1), 'n')


def main():
    tcc, failures = sys.argv[1], 0

    def tool(*arguments):
        done = subprocess.run([tcc, *arguments, '--target=cuda-sim', '--json'], capture_output=True, text=True)
        return json.loads(done.stdout.strip().splitlines()[-1]) if done.stdout.strip() else {'error': done.stderr[-2000:]}

    with tempfile.TemporaryDirectory() as folder:
        # Name, model, element type, rows, launches: the merged product; norms, rotation, attention, projection; or what reads the parts.
        for name, model, element, rows, launches in (('projections', projections(), 'f32', 7, 3), ('rotary', rotary(np.float32), 'f32', 6, 5),
                                                     ('rotary_f16', rotary(np.float16), 'f16', 6, 5), ('uneven', uneven(), 'f32', 5, 5)):
            path = os.path.join(folder, name + '.onnx')
            onnx.save(model, path)
            shape = ['--input', f'x={element}[2,{rows},24]']
            if rows != 6:
                shape += ['--dynamic', 'x=[2,n:1..64,24]']
            explained = tool('explain', path, *shape)
            counted = explained['graphs'][0] if 'graphs' in explained else {}
            verified = tool('verify', path, *shape)
            if counted.get('launches') != launches or verified.get('agrees') is not True:
                failures += 1
                print(f'FAILED: {name}: {verified}; expected {launches} launches:')
                for kernel in counted.get('kernels', [explained]):
                    print('  ', kernel)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
