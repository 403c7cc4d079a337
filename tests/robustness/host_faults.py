#!/usr/bin/env python3
"""What the machine and other processes do to tcc: a builder that is stopped, folders that go or belong to somebody else, limits of the
process, output that nobody takes, signals. A warning or an error that says so; no leftovers, nobody waits for good.

usage: host_faults.py TCC
"""
import glob
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

import harness
from harness import Model, check, small
from worker_faults import wait_for_hang

HANG = {'TCC_WORKER_FAULT': 'hang:codegen'}


def temporaries(model):
    return glob.glob(os.path.join(model.cache, '**', '.tmp-*'), recursive=True)


def tool(model, *arguments, **keywords):
    return subprocess.run([model.command[0], *arguments], text=True, stderr=subprocess.PIPE, timeout=300,
                          env=dict(os.environ, TCC_CACHE_DIR=model.cache), **{'stdout': subprocess.PIPE, **keywords})


def stopped(model):
    """The time limit bounds the wait for somebody else's compile too."""
    holder = model.start(variables=HANG)
    wait_for_hang(holder)
    holder.send_signal(signal.SIGSTOP)
    code, out = model.run('--compile-timeout', '3')
    check(code == 0 and 'as expected' in out, f'beside a stopped one: {code}: {out[:500]}')
    check(out.count('warning') == 1 and f'process {holder.pid} ' in out and '.lock' in out, f'beside a stopped one: {out[:500]}')
    check(': hit ' in model.right('after it'), 'what was compiled beside a stopped one is not kept')
    holder.kill()
    holder.communicate()


def signals(model):
    """Whoever ends a compile: it ends, its worker too, and nothing is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = model.start(variables=HANG, preexec_fn=lambda n=number: signal.signal(n, signal.SIG_DFL))
        worker = os.pidfd_open(wait_for_hang(process))
        check(temporaries(model), 'nothing is written while a model is compiled')
        process.send_signal(number)
        process.communicate(timeout=60)
        check(process.returncode == -number, f'{number.name}: exit code {process.returncode}')
        check(select.select([worker], [], [], 60)[0], f'{number.name}: the worker goes on')
        os.close(worker)
        check(not temporaries(model), f'{number.name}: leaves {temporaries(model)}')
    # As under nohup.
    process = model.start(variables=HANG, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_hang(process)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    check(process.returncode == -signal.SIGTERM, f'SIGHUP that is ignored: exit code {process.returncode}')
    model.right('after the signals')


def killed(model):
    """What nobody could clean up goes later."""
    for command in ('gc', 'verify', 'clear'):
        process = model.start(variables=HANG)
        worker = os.pidfd_open(wait_for_hang(process))
        process.kill()
        process.communicate()
        select.select([worker], [], [], 60)
        os.close(worker)
        check(temporaries(model), f'before {command}: nothing is left')
        done = tool(model, 'cache', command)
        check(done.returncode == 0 and not temporaries(model), f'{command}: {done.stderr}: leaves {temporaries(model)}')


def planted(model):
    """What others put into the cache is not executed."""
    if os.geteuid() != 0:
        print('SKIPPED: entries of another user: needs root')
        return
    model.right('first')
    os.chown(model.package(), 65534, 65534)
    for wanted, warnings in ((': miss ', 1), (': hit ', 0)):
        out = model.right('an entry of another user')
        check(wanted in out and out.count('warning') == warnings, f'an entry of another user: {out[:500]}')
    for folder, names, files in os.walk(os.path.join(model.cache, 'v1')):
        for name in names + files + ['.']:
            os.chown(os.path.join(folder, name), 65534, 65534)
    os.chmod(model.cache, 0o777)
    for _ in range(2):
        out = model.right('folders of another user')
        check(': miss ' in out and out.count('warning') == 1 and 'another user' in out, f'folders of another user: {out[:500]}')


def output(model):
    """What could not be printed is an error."""
    model.right('first')
    run = model.command[1:5]
    for arguments in (run, run + ['--json'], ['cache', 'stats', '--json'], ['cache', 'ls'], ['devices'], ['--help'], ['run', '--help'], ['--version']):
        with open('/dev/full', 'w') as full:
            done = tool(model, *arguments, stdout=full)
        check(done.returncode == 1 and 'standard output' in done.stderr, f'{arguments} > /dev/full: {done.returncode}: {done.stderr}')
        done = tool(model, *arguments, stdout=None, preexec_fn=lambda: os.close(1))
        check(done.returncode == 1 and 'standard output' in done.stderr, f'{arguments} >&-: {done.returncode}: {done.stderr}')
    done = tool(model, 'run', 'none.onnx', '--json', stdout=None, preexec_fn=lambda: os.close(1))
    check(done.returncode == 2 and 'standard output' in done.stderr, f'an error >&-: {done.returncode}: {done.stderr}')
    done = tool(model, 'cache', 'verify')
    check(done.returncode == 0, f'printing wrote to the cache: {done.stdout}')


def limits(model):
    """Files that may not grow and memory that is not there: errors of the machine."""
    for size in (0, 4096, 20000, 200000):
        code, out = model.run(preexec_fn=lambda n=size: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n)))
        check('fault of tcc' not in out and code in (0, 1), f'files of {size} bytes: {code}: {out[:500]}')
        check(code == 0 or 'File too large' in out, f'files of {size} bytes: {code}: {out[:500]}')
        check(not temporaries(model), f'files of {size} bytes: leaves {temporaries(model)}')
        shutil.rmtree(model.cache, ignore_errors=True)
    # Enough for the command line, which maps no compiler.
    for megabytes in range(60, 400, 20):
        limit = (megabytes << 20, megabytes << 20)
        code, out = model.run(preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_AS, n))
        if code == 127:
            continue
        if code == 0:
            break
        if 'could not be started' in out and 'shared libraries' in out:
            check(code == 1 and 'fault of tcc' not in out, f'{megabytes} MB: {code}: {out[:500]}')
            return
    print('SKIPPED: no limit of memory lets the command line start and the worker not')


def twice(model):
    """A model may name an output twice, a file cannot."""
    folder = os.path.dirname(model.command[2])
    x, y, z = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ('x', 'y', 'y_1'))
    nodes = [helper.make_node('Add', ['x', 'x'], ['y']), helper.make_node('Neg', ['x'], ['y_1'])]
    path, result = os.path.join(folder, 'twice.onnx'), os.path.join(folder, 'twice.npz')
    onnx.save(helper.make_model(helper.make_graph(nodes, 'g', [x], [y, y, z]), opset_imports=[helper.make_opsetid('', 21)], ir_version=10), path)
    done = tool(model, 'run', path, '--random', '--output', result)
    check(done.returncode == 0, f'an output named twice: {done.stderr}')
    if done.returncode == 0:
        arrays = np.load(result)
        check(sorted(arrays) == ['y', 'y_1', 'y_2'], f'an output named twice: {sorted(arrays)}')
        check((arrays['y'] == arrays['y_2']).all() and (arrays['y'] == -2 * arrays['y_1']).all(), 'outputs named twice are mixed up')


def main():
    tcc = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        for part in (stopped, signals, killed, planted, output, limits, twice):
            part(Model(tcc, scratch, os.path.join(scratch, part.__name__), small(scratch)))
    print(f'{harness.failures} failures')
    return 1 if harness.failures else 0


if __name__ == '__main__':
    sys.exit(main())
