#!/usr/bin/env python3
"""How much of a model's time is spent in generated kernels, as its machine code shows it.

usage: generated.py MODEL INPUTS.npz [--tcc build/bin/tcc]
A kernel counts as generated when a schedule emitted it, no instruction of it calls anything, and one of its innermost loops (all of
the kernel, if it has none) works on vectors: packed arithmetic, moves or gathers on xmm, ymm or zmm registers.
"""
import argparse, collections, json, os, re, subprocess, sys, tempfile, zipfile

# Packed float and integer arithmetic, moves, gathers; scalar forms end in ss, sd or sh.
PACKED = re.compile(r"\bv?(?:p[a-z]\w*|\w+p[sdh]|mov(?:dq[au]\w*|[au]p[sd]|ntps)|broadcast\w+|vcvt\w+)\b.*%[xyz]mm")


def functions_of(code):
    """{symbol: [(address, text, jump target or None)]} of a shared object."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(code)
        file.flush()
        listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", file.name], capture_output=True, text=True, check=True).stdout
    functions, body = {}, None
    for line in listing.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.+)>:", line):
            body = functions.setdefault(head[1], [])
        elif (row := re.match(r"\s*([0-9a-f]+):\s+(.*)", line)) and body is not None:
            jump = re.match(r"j\w+\s+(?:0x)?([0-9a-f]+)\b", row[2])
            body.append((int(row[1], 16), row[2], int(jump[1], 16) if jump else None))
    return functions


def vectorised(body):
    if any(re.match(r"call", text) for _, text, _ in body):
        return False
    loops = [(target, address) for address, _, target in body if target is not None and body[0][0] <= target <= address]
    inner = [(a, b) for a, b in loops if not any((c, d) != (a, b) and a <= c and d <= b for c, d in loops)]
    inside = lambda address: not inner or any(a <= address <= b for a, b in inner)
    return any(PACKED.search(text) for address, text, _ in body if inside(address))


def walk(instructions):
    for instruction in instructions:
        yield instruction
        for value in instruction.values():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                yield from walk(value)


def kernels(explained):
    """[(name, ms, generated)] of what `tcc explain --json` printed."""
    rows = []
    for graph in explained["graphs"]:
        with zipfile.ZipFile(graph["package"]) as package:
            plan = json.loads(package.read("plan/0.json"))
            symbols = collections.defaultdict(set)
            for instruction in walk(plan["body"]):
                if instruction.get("do") == "launch":
                    symbols[instruction["name"]].add(plan["functions"][instruction["function"]])
            code = functions_of(package.read("code/0.so")) if "code/0.so" in package.namelist() else {}
        for kernel in graph["kernels"]:
            used = symbols.get(kernel["name"], ())
            good = bool(kernel["schedule"]) and bool(used) and all(vectorised(code[s]) for s in used)
            rows.append((kernel["name"], kernel.get("ms", 0.0), good))
    return rows


def share(cache, model, reference):
    """Share of the time in generated kernels, or None if the model does not run. `cache` runs tcc and parses its JSON."""
    explained = cache.json("explain", model, "--input", reference)
    rows = kernels(explained) if explained.get("graphs") else []
    total = sum(ms for _, ms, _ in rows)
    return sum(ms for _, ms, good in rows if good) / total if total else None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("inputs")
    p.add_argument("--tcc", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "bin", "tcc"))
    a = p.parse_args()
    rows = kernels(json.loads(subprocess.run([a.tcc, "explain", a.model, "--input", a.inputs, "--json"], capture_output=True, text=True, check=True).stdout))
    total = sum(ms for _, ms, _ in rows) or 1
    for name, ms, good in sorted(rows, key=lambda row: -row[1]):
        if not good:
            print(f"{100 * ms / total:5.1f} %  {name}")
    print(f"{100 * sum(ms for _, ms, good in rows if good) / total:.1f} % generated")


if __name__ == "__main__":
    main()
