"""Pointwise ops on floats, with their broadcasts."""
import numpy as np
from onnx import TensorProto

from graphs.graph import TYPES, Value, partner


# Float kinds. Ops that jump (Floor, comparisons, casts to integers) apply to exact values only.
def unary(g):
    x = g.floats()
    if x is None:
        return
    op = g.pick(['Relu', 'Sigmoid', 'Tanh', 'Abs', 'Neg', 'Erf', 'Softplus', 'Elu', 'LeakyRelu', 'HardSigmoid', 'HardSwish',
                 'Sin', 'Cos', 'Gelu', 'Mish', 'Selu', 'Celu', 'Softsign', 'Atan', 'ThresholdedRelu', 'Clip', 'Exp', 'Sqrt',
                 'Log', 'Reciprocal', 'Pow', 'Identity', 'Asinh'])
    if op == 'Exp':
        x = g.node('Clip', [x, g.const(np.float32(-5)), g.const(np.float32(3))])
    if op in ('Sqrt', 'Log', 'Reciprocal', 'Pow'):
        x = g.node('Add', [g.node('Abs', [x]), g.const(np.float32(g.pick([0.5, 1.0])))])
    extra = []
    if op == 'Clip':
        extra = [g.const(np.float32(-0.7)), g.const(np.float32(1.1))][:g.pick([1, 2])]
        if g.chance(0.3):
            extra = ['', g.const(np.float32(0.3))]
    if op == 'Pow':
        extra = [g.const(np.float32(g.pick([2.0, 0.5, 1.5, -1.0, 3.0])))]
    attributes = {}
    if op == 'Gelu':
        attributes = {'approximate': g.pick(['none', 'tanh'])}
    if op == 'ThresholdedRelu':
        if not x.exact:
            op, attributes = 'Relu', {}
    g.node(op, [x] + extra, exact=x.exact and op in ('Relu', 'Abs', 'Neg', 'Clip', 'Identity'), **attributes)


def jump(g):
    exact = [v for v in g.values if v.dtype == 'float32' and v.exact]
    x = g.pick(exact)
    kind = g.pick(['Floor', 'Ceil', 'Round', 'Sign', 'where', 'cast'])
    if kind == 'where':
        mask = g.node(g.pick(['Greater', 'Less', 'GreaterOrEqual']), [x, g.const(np.float32(0.1))], dtype='bool')
        if g.chance(0.5):
            mask = g.node('Not', [mask])
        g.node('Where', [mask, g.node('Sigmoid', [x], exact=False), x], shapes=x.shapes, dtype='float32', exact=False)
    elif kind == 'cast':
        to = g.pick(['int32', 'int64', 'int8'])
        y = g.node('Cast', [x], dtype=to, to=TYPES[to])
        y = g.node('Add', [y, g.const(np.array(3, to))])
        g.node('Cast', [y], dtype='float32', to=TensorProto.FLOAT)
    else:
        g.node(kind, [x])


def binary(g):
    x = g.floats()
    if x is None:
        return
    op = g.pick(['Add', 'Sub', 'Mul', 'Div', 'Max', 'Min', 'PRelu', 'Mean'])
    # An operand that broadcasts: a constant of trailing extents, another value, or its own reduction.
    how = g.pick(['const', 'other', 'reduced', 'scalar', 'outer'])
    y, shapes = None, x.shapes
    if how == 'const':
        dims = [x.shapes[0][a] if x.static(a) and g.chance(0.6) else 1 for a in range(x.rank)]
        dims = dims[g.pick(range(x.rank + 1)):]
        y = g.weight(dims)
    elif how == 'scalar':
        y = g.const(np.float32(1.3))
    elif how == 'reduced' and x.rank:
        axis = g.pick(range(x.rank))
        if 0 in x.dim(axis):
            return
        y = g.node(g.pick(['ReduceMean', 'ReduceMax', 'ReduceSum']), [x, g.ints(axis)], keepdims=1, exact=False,
                   shapes=[s[:axis] + (1,) + s[axis + 1:] for s in x.shapes])
    elif how == 'outer':
        y = g.weight([g.pick([1, 2, 3])] + [1] * x.rank)
        shapes = [(g.initializers[-1].dims[0],) + s for s in x.shapes]
        if x.elements() > 20000:
            return
    else:
        found = partner(g, x)
        if found:
            y, shapes = found
    if y is None:
        return
    if op == 'PRelu':
        # The slope broadcasts to x only.
        ys = y.shapes if isinstance(y, Value) else None
        if how not in ('const', 'scalar', 'reduced') and shapes != x.shapes:
            return
    if op == 'Div':
        y = g.node('Add', [g.node('Abs', [y], exact=False) if isinstance(y, Value) else y, g.const(np.float32(1))]) \
            if isinstance(y, Value) else g.const(np.float32(1.7))
        if not isinstance(y, Value):
            shapes = x.shapes
    ins = [x, y]
    if op in ('Sub', 'Max', 'Add', 'Mul', 'Min') and g.chance(0.3):
        ins = [y, x]
    g.node(op, ins, shapes=shapes, exact=False)
