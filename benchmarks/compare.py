#!/usr/bin/env python3
"""Times tcc beside another runtime on the same models and writes a table and a chart.

usage: compare.py ZOO [--peer ort|openvino|torch] [--models a,b] [--threads 2] [--seconds 3] [--rounds 3] [--tcc build/bin/tcc]
                  [--markdown FILE] [--chart FILE.png] [--json FILE]
ZOO holds NAME.onnx and NAME.npz as zoo.py writes them. The two sides alternate (this machine's load changes by the minute, so only
ratios within one run mean something); each figure is the median over the rounds of a round's median call.
Needs: pip install numpy onnxruntime (or the other peer), matplotlib for --chart. Exit code 1 if a result is wrong or a side fails.
"""
import argparse, json, os, statistics, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("zoo")
    p.add_argument("--peer", default="ort", choices=["ort", "openvino", "torch"])
    p.add_argument("--models", default="resnet50,vit,bert,mobilenet,segformer,convnext")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--mode", default="default")
    p.add_argument("--tcc", default=os.path.join(HERE, "..", "build", "bin", "tcc"))
    p.add_argument("--markdown")
    p.add_argument("--chart")
    p.add_argument("--json")
    return p.parse_args()


def run_json(command):
    """The last line of the command's output that is a JSON object, or None with the error printed."""
    done = subprocess.run(command, capture_output=True, text=True)
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    try:
        return json.loads(done.stdout)
    except ValueError:
        print(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr.strip()[-2000:]}", file=sys.stderr)
        return None


def measure(a, name):
    base = os.path.join(a.zoo, name)
    tcc = [a.tcc, "bench", base + ".onnx", "--input", base + ".npz", f"--mode={a.mode}", "--threads", str(a.threads),
           "--warmup", "500", "--duration", str(int(a.seconds * 1000)), "--json"]
    peer = [sys.executable, os.path.join(HERE, "peers", "bench_peer.py"), a.peer, base, "--threads", str(a.threads), "--seconds", str(a.seconds)]
    check = subprocess.run([a.tcc, "run", base + ".onnx", "--input", base + ".npz", f"--mode={a.mode}", "--expect", base + ".npz",
                            "--rtol", "1e-4", "--atol", "1e-4"], capture_output=True, text=True)
    if check.returncode != 0:
        print(f"{name}: wrong result: {check.stdout.strip()[-500:]} {check.stderr.strip()[-500:]}", file=sys.stderr)
    sides = {"tcc": [], a.peer: []}
    for _ in range(a.rounds):
        for side, command in (("tcc", tcc), (a.peer, peer)):
            result = run_json(command)
            if result is None:
                return None
            sides[side].append(result["median_ms"])
    ours, theirs = statistics.median(sides["tcc"]), statistics.median(sides[a.peer])
    return {"model": name, "tcc_ms": ours, "peer_ms": theirs, "ratio": ours / theirs, "right": check.returncode == 0}


def main():
    a = arguments()
    rows = []
    for name in a.models.split(","):
        row = measure(a, name)
        if row is None:
            row = {"model": name, "tcc_ms": None, "peer_ms": None, "ratio": None, "right": False}
        rows.append(row)
        print(row, flush=True)
    table = [f"| model | tcc ms | {a.peer} ms | tcc / {a.peer} |", "|---|---|---|---|"]
    for r in rows:
        table.append(f"| {r['model']} | " + ("failed | | |" if r["ratio"] is None else f"{r['tcc_ms']:.1f} | {r['peer_ms']:.1f} | {r['ratio']:.2f} |"))
    print("\n".join(table))
    if a.markdown:
        open(a.markdown, "w").write("\n".join(table) + "\n")
    if a.json:
        json.dump(rows, open(a.json, "w"), indent=1)
    good = [r for r in rows if r["ratio"] is not None]
    if a.chart and good:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        figure, axis = plt.subplots(figsize=(8, 4))
        axis.bar(range(len(good)), [r["ratio"] for r in good])
        axis.axhline(1, color="black", linewidth=1)
        axis.set_xticks(range(len(good)), [r["model"] for r in good], rotation=30, ha="right")
        axis.set_ylabel(f"time of tcc / time of {a.peer} (lower is better)")
        figure.tight_layout()
        figure.savefig(a.chart, dpi=120)
    sys.exit(0 if all(r["right"] and r["ratio"] is not None for r in rows) else 1)


main()
