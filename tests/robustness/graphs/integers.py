"""Ops on integers and truth values: every result must be equal."""
import numpy as np

from graphs.graph import INTS, TYPES, partner


def integer_binary(g):
    found = [v for v in g.values if v.dtype in INTS]
    x = g.pick(found)
    op = g.pick(['Add', 'Sub', 'Mul', 'Div', 'Max', 'Min', 'Mod', 'BitwiseAnd', 'BitwiseOr', 'BitwiseXor', 'BitShift', 'Pow'])
    if op in ('Div', 'Mod'):
        y = g.const(np.array(g.pick([1, 2, 3, 7, 10] + ([-1, -3, -4] if x.dtype[0] == 'i' else [])), x.dtype))
        if op == 'Div' and x.dtype[0] == 'i':
            # min / -1 does not fit.
            x = g.node('BitShift' if x.dtype[0] == 'u' else 'Div', [x, g.const(np.array(2, x.dtype))])
        g.node(op, [x, y])
        return
    if op == 'BitShift':
        if x.dtype[0] != 'u':
            return
        g.node(op, [x, g.const(np.array(g.pick([0, 1, 5]), x.dtype))], direction=g.pick(['LEFT', 'RIGHT']))
        return
    if op == 'Pow':
        if x.dtype not in ('int32', 'int64'):
            return
        x = g.node('Mod', [x, g.const(np.array(5, x.dtype))])
        g.node(op, [x, g.const(np.array(2, x.dtype))])
        return
    found = partner(g, x)
    if found:
        g.node(op, [x, found[0]], shapes=found[1])
        return
    g.node(op, [x, g.const(g.rng.integers(0, 100, [d if x.static(a) else 1 for a, d in enumerate(x.shapes[0])]).astype(x.dtype))])


def integer_unary(g):
    x = g.pick([v for v in g.values if v.dtype in INTS])
    op = g.pick(['Abs', 'Neg', 'Sign', 'BitwiseNot', 'Clip', 'Relu'])
    if op in ('Neg', 'Relu') and x.dtype[0] == 'u':
        return
    if op in ('Abs', 'Neg'):
        x = g.node('Max', [x, g.const(np.array(max(np.iinfo(x.dtype).min + 1, -2 ** 62), x.dtype))])
    extra = [g.const(np.array(3, x.dtype)), g.const(np.array(90, x.dtype))] if op == 'Clip' else []
    g.node(op, [x] + extra)


def integer_cast(g):
    x = g.pick([v for v in g.values if v.dtype in INTS or v.dtype == 'bool'])
    to = g.pick(list(INTS) + ['bool'])
    g.node('Cast', [x], dtype=to, to=TYPES[to])


def integer_compare(g):
    x = g.pick([v for v in g.values if v.dtype in INTS])
    mask = g.node(g.pick(['Greater', 'Less', 'Equal', 'GreaterOrEqual', 'LessOrEqual']), [x, g.const(np.array(4, x.dtype))], dtype='bool')
    if g.chance(0.4):
        mask = g.node(g.pick(['And', 'Or', 'Xor']), [mask, g.node('Less', [x, g.const(np.array(60, x.dtype))], dtype='bool')])
    g.node('Where', [mask, x, g.const(np.array(7, x.dtype))], shapes=x.shapes, dtype=x.dtype)


def integer_reduce(g):
    found = [v for v in g.values if v.dtype in ('int32', 'int64') and v.rank]
    if not found:
        return
    x = g.pick(found)
    op = g.pick(['ReduceSum', 'ReduceMax', 'ReduceMin', 'ReduceProd', 'ReduceMax'])
    axes = [a for a in range(x.rank) if g.chance(0.5)] or [g.pick(range(x.rank))]
    if any(0 in x.dim(a) for a in axes):
        return
    if op in ('ReduceSum', 'ReduceProd'):
        x = g.node('Mod', [x, g.const(np.array(3, x.dtype))])
    keep = g.pick([0, 1])
    g.node(op, [x, g.ints(*axes)], keepdims=keep,
           shapes=[tuple((1 if a in axes else d) for a, d in enumerate(s) if keep or a not in axes) for s in x.shapes])
