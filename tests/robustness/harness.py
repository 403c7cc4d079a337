"""A model, its cache, and calls of it by the command line, for the tests of what damage does."""
import glob
import os
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

failures = 0


def check(condition, text):
    global failures
    if not condition:
        failures += 1
        print(f'FAILED: {text}')


class Model:
    """`tcc run` of a model with inputs and expected outputs, in a cache folder of its own."""

    def __init__(self, tcc, folder, cache, name):
        data = os.path.join(folder, name + '.npz')
        self.command = [tcc, 'run', os.path.join(folder, name + '.onnx'), '--input', data, '--expect', data]
        self.cache = cache

    def start(self, *options, prefix=(), variables=None, **keywords):
        environment = dict(os.environ, TCC_CACHE_DIR=self.cache, TCC_LOGS='cache', TCC_REPRODUCER_DIR=os.path.dirname(self.cache))
        environment.update(variables or {})
        return subprocess.Popen([*prefix, *self.command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                errors='replace', env=environment, **keywords)

    def run(self, *options, **keywords):
        """(exit code, what it printed)"""
        process = self.start(*options, **keywords)
        out, _ = process.communicate(timeout=300)
        return process.returncode, out

    def package(self):
        found = glob.glob(os.path.join(self.cache, 'v*', 'packages', '**', '*.tcc'), recursive=True)
        assert len(found) == 1, found
        return found[0]

    def right(self, what, **keywords):
        code, out = self.run(**keywords)
        check(code == 0 and 'as expected' in out, f'{what}: exit code {code}: {out[:500]}')
        return out


def small(folder):
    """A model that compiles at once, with constants."""
    shape = [4, 5]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in 'xy')
    nodes = [helper.make_node('MatMul', ['x', 'w'], ['t']), helper.make_node('Relu', ['t'], ['y'])]
    w = np.arange(25, dtype=np.float32).reshape(5, 5)
    graph = helper.make_graph(nodes, 'g', [x], [y], [numpy_helper.from_array(w, 'w')])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 21)], ir_version=10), os.path.join(folder, 'small.onnx'))
    data = np.linspace(-1, 1, 20, dtype=np.float32).reshape(shape)
    np.savez(os.path.join(folder, 'small.npz'), x=data, y=np.maximum(data @ w, 0))
    return 'small'
