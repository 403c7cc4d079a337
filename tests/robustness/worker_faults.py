#!/usr/bin/env python3
"""A compile worker, or the process that asked it, that dies at any point: an error with a reproducer that runs, the next call is
right, and nobody waits for the dead.

usage: worker_faults.py TCC
"""
import os
import re
import select
import subprocess
import sys
import tempfile

import harness
from harness import Model, check, small

PHASES = ['load', 'import', 'simplify', 'fuse', 'codegen', 'package', 'reply']


def reproducer_of(out):
    found = re.search(r'--request (\S+)', out)
    return found.group(1) if found else ''


def faults(model):
    """Started as users start it, with $TCC_WORKER_FAULT for the worker."""
    for fault, text in [('kill:' + phase, 'signal 9') for phase in PHASES] + [('crash:codegen', 'signal 11'), ('exit', 'code 3')]:
        code, out = model.run(variables={'TCC_WORKER_FAULT': fault})
        check(code == 1 and text in out and 'error' in out, f'{fault}: exit code {code}: {out[:500]}')
        check(os.path.exists(reproducer_of(out)), f'{fault}: no reproducer: {out[:500]}')
    check(': miss ' in model.right('after the faults'), 'after the faults: something was kept')
    worker = os.path.join(os.path.dirname(model.command[0]), 'tcc-worker')
    done = subprocess.run([worker, '--request', reproducer_of(out)], capture_output=True, text=True, timeout=300)
    check(done.returncode == 0, f'the reproducer: {done.stderr[:500]}')


def time_limit(model):
    code, out = model.run('--compile-timeout', '0.5', variables={'TCC_WORKER_FAULT': 'hang:codegen'})
    check(code == 1 and "longer than 0.5 s (in phase 'codegen')" in out and reproducer_of(out), f'time limit: {code}: {out[:500]}')
    model.right('after the time limit')


def wait_for_hang(process):
    """Until its worker hangs, in the middle of a compile; the worker, as what can be waited for."""
    for line in process.stdout:
        if 'hangs' in line:
            with open(f'/proc/{process.pid}/task/{process.pid}/children') as children:
                return int(children.read().split()[0])
    check(False, 'the worker did not hang')


def host_killed(model):
    """Its worker ends, and whoever waits for its compile compiles."""
    holder = model.start(variables={'TCC_WORKER_FAULT': 'hang:codegen'})
    worker = os.pidfd_open(wait_for_hang(holder))
    waiters = [model.start() for _ in range(3)]
    holder.kill()
    holder.communicate()
    check(select.select([worker], [], [], 60)[0], 'the worker of a killed process goes on')
    os.close(worker)
    outs = [w.communicate(timeout=300)[0] for w in waiters]
    check(all(w.returncode == 0 for w in waiters), f'waiters: {[w.returncode for w in waiters]} {outs}')
    misses = sum(': miss ' in out for out in outs)
    check(misses == 1, f'waiters compiled {misses} times')


def main():
    tcc = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        for part in (faults, time_limit, host_killed):
            part(Model(tcc, scratch, os.path.join(scratch, part.__name__), small(scratch)))
    print(f'{harness.failures} failures')
    return 1 if harness.failures else 0


if __name__ == '__main__':
    sys.exit(main())
