#!/usr/bin/env python3
"""Writes the models of a case file and runs them through `tcc test`.

usage: run.py TCC OUT CASES [VARIANT...]     CASES: a module beside this file, such as slicing; variants: static dynamic constant-inputs
A variant runs every case in one process. A case passes when its values come out, or its error is reported; a refusal of a case that has
values is a failure, as is an error that does not match.
Needs: pip install onnx
"""
import importlib
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import field  # noqa: E402


def run(tcc, group, variant):
    listed = {n: error for n, (variants, error) in group.cases.items() if variant in variants}
    skips = os.path.join(group.folder, f"skips-{variant}.txt")
    with open(skips, "w") as f:
        f.writelines(f"{n} listed\n" for n in group.cases if n not in listed)
    done = subprocess.run([tcc, "test", "--mode-variant", variant, "--skip-list", skips, "--rtol", "1e-5", group.folder],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    found = {}
    for line in done.stdout.splitlines():
        outcome, _, rest = line.partition(" ")
        name, _, reason = rest.partition(" ")
        if outcome in ("PASS", "FAIL", "SKIP"):
            found[name] = (outcome, reason)
    errors = []
    for name, error in listed.items():
        outcome, reason = found.get(name, ("nothing", f"exit code {done.returncode}: {done.stderr.strip()[-1000:]}"))
        if error is None and outcome != "PASS":
            errors.append(f"{variant} {name}: {outcome} {reason}")
        elif error is not None and (outcome == "PASS" or not re.search(error, reason)):
            errors.append(f"{variant} {name}: {outcome} {reason or 'without an error'}; expected an error like '{error}'")
    return len(listed), errors


def main():
    tcc, out, cases = sys.argv[1:4]
    group = field.Group(os.path.join(out, cases))
    importlib.import_module(cases).cases(group.add)
    count, errors = 0, []
    for variant in sys.argv[4:] or field.ALL:
        n, wrong = run(tcc, group, variant)
        count += n
        errors += wrong
    print("\n".join(errors))
    print(f"{count} run, {len(errors)} wrong")
    sys.exit(1 if errors or not count else 0)


if __name__ == "__main__":
    main()
