#!/usr/bin/env python3
"""Random small graphs, compiled by tcc and compared with ONNX Runtime.

usage: random_graphs.py TCC [--seed S] [--count N] [--keep DIR] [--kind static|dynamic|learned|integer|half|bfloat|double|all]
                        [--target TARGET]

Each graph mixes pointwise ops, broadcasts, reductions, normalisations, matrix products, convolutions, pooling and data
movement over odd extents (0, 1, primes, one past a tile). Dynamic graphs have one extent `n`, and are called with several
values of it. A mismatch is reduced to the first node whose value alone is wrong.
"""
import argparse
import os
import sys
import tempfile

import numpy as np
import onnx
import onnx.printer

from graphs.comparing import Runner, check
from graphs.kinds import KINDS, STORED, make


def reduce_failure(g, feed, runner, kind):
    for value in g.values:
        if any(value is i for i, _ in g.inputs):
            continue
        model = drop_unused_inputs(g.model([value]))
        ok, text = check(model, feed, runner, kind == 'dynamic', STORED.get(kind))
        if ok is False:
            return model, text
    return None, ''


def drop_unused_inputs(model):
    used = {n for node in model.graph.node for n in node.input}
    kept = [i for i in model.graph.input if i.name in used]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return model


def strip(model):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for i in copy.graph.initializer:
        if np.prod(i.dims) > 8:
            i.ClearField('raw_data')
    return copy


def keep(folder, seed, model, small, feed):
    os.makedirs(folder, exist_ok=True)
    onnx.save(model, f'{folder}/{seed}.onnx')
    np.savez(f'{folder}/{seed}.npz', **feed)
    if small is not None:
        onnx.save(small, f'{folder}/{seed}.small.onnx')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('tcc')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--count', type=int, default=100)
    parser.add_argument('--keep', default='')
    parser.add_argument('--kind', default='all', choices=['all', *sorted(set(KINDS))])
    parser.add_argument('--target', default='cpu')
    options = parser.parse_args()
    kinds = KINDS if options.kind == 'all' else [options.kind]
    passed = failed = skipped = 0
    for seed in range(options.seed, options.seed + options.count):
        kind = kinds[seed % len(kinds)]
        g = make(seed, kind)
        outputs = g.outputs()
        if not outputs:
            continue
        model = g.model(outputs)
        with tempfile.TemporaryDirectory() as folder:
            runner = Runner([options.tcc, 'run', '--target', options.target], folder)
            for valuation, n in enumerate(g.ns[:4] if seed % 2 else g.ns):
                feed = g.feed(valuation)
                ok, text = check(model, feed, runner, kind == 'dynamic', STORED.get(kind))
                if ok is None:
                    skipped += 1
                    if 'no such dtype' not in text and ('ShapeInfer' in text or 'INVALID_ARGUMENT' in text or 'INVALID_GRAPH' in text):
                        print(f'GENERATOR seed {seed} {kind} {text}', flush=True)
                elif ok:
                    passed += 1
                else:
                    failed += 1
                    print(f'FAIL seed {seed} {kind} n={n}: {text[:700]}', flush=True)
                    small, why = reduce_failure(g, feed, runner, kind)
                    if small is not None:
                        print(f'  reduced: {why[:700]}\n' + onnx.printer.to_text(strip(small))[:2500], flush=True)
                    if options.keep:
                        keep(options.keep, seed, model, small, feed)
                    break
    print(f'{passed} passed, {failed} failed, {skipped} without a reference', flush=True)
    # A reference that fails for (nearly) everything would hide every fault.
    if options.count and (passed == 0 or skipped > passed):
        print('too few results could be compared', flush=True)
        return 1
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
