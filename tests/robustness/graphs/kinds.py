"""Kinds of random graphs, each with the ops that it mixes."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from graphs.compute import (batch_norm, conv, conv_transpose, instance_norm, layer_norm, manual_norm, matmul, pool, reduce,
                            self_product, softmax)
from graphs.graph import INTS, Graph
from graphs.integers import integer_binary, integer_cast, integer_compare, integer_reduce, integer_unary
from graphs.movement import (arg, concat, cumsum, expand, flatten, gather, pad, reshape, resize, shape_of, slice_, space, split,
                             squeeze, transpose)
from graphs.scatter import scatter_elements, scatter_nd
from graphs.pointwise import binary, jump, unary

MOVE = [transpose, reshape, flatten, squeeze, slice_, concat, split, pad, expand, gather, scatter_nd, scatter_elements]
FLOAT = [unary] * 4 + [binary] * 5 + [reduce, matmul, conv] * 2 + [
    jump, softmax, layer_norm, manual_norm, batch_norm, instance_norm, self_product, conv_transpose, pool, space, resize, cumsum,
    arg, shape_of] + MOVE
INTEGER = [integer_binary] * 4 + [integer_unary, integer_cast, integer_compare] * 2 + [integer_reduce] + MOVE

# Of the float kinds: what the graph computes in. The graph is made in float32 and rewritten.
STORED = {'half': TensorProto.FLOAT16, 'bfloat': TensorProto.BFLOAT16, 'double': TensorProto.DOUBLE}
# 'dynamic' marks its extents, 'learned' leaves that to the second call.
VARYING = ['dynamic', 'learned']
KINDS = ['static', 'dynamic', 'integer', 'half', 'learned', 'static', 'integer', 'bfloat', 'dynamic', 'double']

SHAPES = [[4, 6], [1, 5, 7], [2, 4, 9, 7], [1, 8, 12, 12], [3, 17, 33], [2, 3, 4, 5, 6], [13], [65, 31], [1, 1, 1, 1], [2, 16, 5, 17],
          [7, 1, 9], [0, 3], [2, 0, 4], [1, 3, 1, 20], [37, 64]]
DYNAMIC_SHAPES = [[4, 6], [5, 7, 8], [2, 4, 9, 7], [1, 8, 12, 12], [13], [65, 31], [3, 17, 33], [1, 3, 1, 20]]


def make(seed, kind):
    rng = np.random.default_rng(seed)
    g = Graph(rng, kind in VARYING, INTEGER if kind == 'integer' else FLOAT)
    shape = list(g.pick(DYNAMIC_SHAPES if kind in VARYING else SHAPES))
    if kind in VARYING:
        for axis in {g.pick(range(len(shape))), g.pick(range(len(shape)))}:
            if g.chance(0.8) or axis == 0:
                shape[axis] = 'n'
    for k in range(g.pick([1, 1, 2, 3])):
        dims = list(shape)
        if k and g.chance(0.4):
            dims[g.pick(range(len(dims)))] = 1
        g.input(dims, g.pick(list(INTS)) if kind == 'integer' else 'float32')
    for _ in range(int(rng.integers(3, 16))):
        g.step()
    return g


def rounded(array, dtype):
    """float32 values as `dtype` stores them."""
    stored = helper.tensor_dtype_to_np_dtype(dtype)
    return array.astype(stored).astype(np.float32) if array.dtype == np.float32 else array


def rewrite(model, initializer):
    """The model with every float32 initializer as initializer(tensor) gives it; Resize wants its scales in float32."""
    scales = {name for node in model.graph.node if node.op_type == 'Resize' for name in node.input[1:]}
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and tensor.name not in scales:
            tensor.CopyFrom(initializer(tensor))
    return model


def stored_as(model, dtype):
    """The graph in another float dtype, with the op set from which most ops take it. bfloat16 has no numpy files: there inputs
    and outputs stay float32."""
    model.opset_import[0].version = 22
    stored = helper.tensor_dtype_to_np_dtype(dtype)
    model = rewrite(model, lambda t: numpy_helper.from_array(np.asarray(numpy_helper.to_array(t).astype(stored)), t.name))
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == 'Cast' and attribute.i == TensorProto.FLOAT:
                attribute.i = dtype
    border = [v for v in list(model.graph.input) + list(model.graph.output) if v.type.tensor_type.elem_type == TensorProto.FLOAT]
    if dtype != TensorProto.BFLOAT16:
        for value in border:
            value.type.tensor_type.elem_type = dtype
        return model
    inputs = {v.name: v.name + '_stored' for v in model.graph.input}
    outputs = {v.name: v.name + '_stored' for v in border if v.name not in inputs}
    nodes = [helper.make_node('Cast', [old], [new], to=dtype) for old, new in inputs.items()]
    for node in model.graph.node:
        node.input[:] = [inputs.get(name, outputs.get(name, name)) for name in node.input]
        node.output[:] = [outputs.get(name, name) for name in node.output]
        nodes.append(node)
    nodes += [helper.make_node('Cast', [new], [old], to=TensorProto.FLOAT) for old, new in outputs.items()]
    copies = [type(n).FromString(n.SerializeToString()) for n in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)
    return model
