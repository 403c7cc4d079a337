"""A graph under construction: its values know their shapes in every call."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
# What `n` is in the calls of a dynamic graph.
VALUATIONS = [5, 1, 0, 3, 9, 16, 33]
INTS = {'int8': TensorProto.INT8, 'uint8': TensorProto.UINT8, 'int16': TensorProto.INT16, 'uint16': TensorProto.UINT16,
        'int32': TensorProto.INT32, 'uint32': TensorProto.UINT32, 'int64': TensorProto.INT64, 'uint64': TensorProto.UINT64}
TYPES = dict(INTS, float32=TensorProto.FLOAT, float64=TensorProto.DOUBLE, float16=TensorProto.FLOAT16, bool=TensorProto.BOOL)


class Value:
    """A value of the graph; `shapes` has one shape for each valuation of n."""

    def __init__(self, name, shapes, dtype='float32', exact=True):
        self.name, self.dtype, self.exact = name, dtype, exact
        self.shapes = [tuple(int(d) for d in s) for s in shapes]

    @property
    def rank(self):
        return len(self.shapes[0])

    def dim(self, axis):
        return tuple(s[axis] for s in self.shapes)

    def static(self, axis):
        return len(set(self.dim(axis))) == 1

    def elements(self):
        return max(int(np.prod(s)) for s in self.shapes)


class Graph:
    def __init__(self, rng, dynamic, steps):
        """`steps`: functions that add nodes to the graph, or do nothing where it has no value that they can take."""
        self.rng, self.dynamic, self.steps = rng, dynamic, steps
        self.ns = VALUATIONS if dynamic else [None]
        self.nodes, self.initializers, self.inputs, self.values, self.used = [], [], [], [], set()
        self.count = 0

    # Building blocks.
    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def chance(self, p):
        return self.rng.random() < p

    def extent(self):
        return int(self.pick([1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 31, 32, 33, 65]))

    def name(self, prefix='v'):
        self.count += 1
        return f'{prefix}{self.count}'

    def const(self, array):
        name = self.name('c')
        self.initializers.append(numpy_helper.from_array(np.array(array, order='C'), name))
        return name

    def ints(self, *values):
        return self.const(np.array(values, np.int64))

    def weight(self, shape, scale=1.0):
        return self.const((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def input(self, dims, dtype='float32'):
        """dims: ints, or 'n' or (a, b) for a*n+b."""
        name = self.name('x')
        shapes = [[d if isinstance(d, int) else n for d in dims] for n in self.ns]
        value = Value(name, shapes, dtype)
        self.inputs.append((value, dims))
        self.values.append(value)
        return value

    def node(self, op, inputs, shapes=None, dtype=None, outputs=1, exact=None, domain='', **attributes):
        names = [self.name() for _ in range(outputs)]
        ins = [i.name if isinstance(i, Value) else i for i in inputs]
        self.nodes.append(helper.make_node(op, ins, names, domain=domain, **attributes))
        for i in inputs:
            if isinstance(i, Value):
                self.used.add(i.name)
        first = next(i for i in inputs if isinstance(i, Value))
        if outputs > 1:
            result = [Value(n, s, dtype or first.dtype, False) for n, s in zip(names, shapes)]
            self.values += result
            return result
        value = Value(names[0], shapes or first.shapes, dtype or first.dtype, first.exact if exact is None else exact)
        self.values.append(value)
        return value

    def floats(self, rank=None, at_least=0):
        found = [v for v in self.values if v.dtype == 'float32' and v.rank >= at_least and (rank is None or v.rank == rank)
                 and v.elements() < 60000]
        if not found:
            return None
        # Later values more often: deeper graphs.
        return found[-1 - min(int(self.rng.exponential(2.0)), len(found) - 1)]

    def step(self):
        for _ in range(20):
            before = len(self.nodes)
            self.pick(self.steps)(self)
            if len(self.nodes) > before:
                return

    def model(self, outputs):
        def info(value, dims=None):
            shape = []
            for axis in range(value.rank):
                d = dims[axis] if dims else None
                shape.append(d if d is not None else (value.shapes[0][axis] if value.static(axis) else None))
            return helper.make_tensor_value_info(value.name, TYPES[value.dtype], shape)
        graph = helper.make_graph(self.nodes, 'random', [info(v, d) for v, d in self.inputs], [info(v) for v in outputs],
                                  self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', OPSET)], ir_version=10)
        return prune(model)

    def outputs(self):
        ends = [v for v in self.values if v.name not in self.used and not any(v is i for i, _ in self.inputs)]
        extra = [v for v in self.values if v.name in self.used and self.chance(0.08) and not any(v is i for i, _ in self.inputs)]
        return ends + extra

    def feed(self, valuation):
        feed = {}
        for value, _ in self.inputs:
            shape = value.shapes[valuation]
            if value.dtype == 'float32':
                feed[value.name] = self.rng.standard_normal(shape).astype(np.float32)
            elif value.dtype == 'bool':
                feed[value.name] = self.rng.random(shape) < 0.5
            else:
                info = np.iinfo(value.dtype)
                wide = self.rng.integers(info.min, info.max, shape, dtype=value.dtype, endpoint=True)
                small = self.rng.integers(max(info.min, -9), 9, shape).astype(value.dtype)
                feed[value.name] = np.where(self.rng.random(shape) < 0.5, wide, small).astype(value.dtype)
        return feed


def prune(model):
    needed = {o.name for o in model.graph.output}
    keep = []
    for node in reversed(model.graph.node):
        if needed & set(node.output):
            keep.append(node)
            needed |= set(node.input)
    del model.graph.node[:]
    model.graph.node.extend(reversed(keep))
    kept = [i for i in model.graph.initializer if i.name in needed]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    return model


def broadcast_shapes(a, b):
    return [np.broadcast_shapes(x, y) for x, y in zip(a, b)]


def partner(g, x):
    """The newest other value of x's type that x can be broadcast with, and the shapes that gives; nothing where there is none."""
    for other in reversed(g.values):
        if other is x or other.dtype != x.dtype:
            continue
        try:
            shapes = broadcast_shapes(x.shapes, other.shapes)
        except ValueError:
            continue
        if max(np.prod(s) for s in shapes) <= 60000:
            return other, shapes
    return None
