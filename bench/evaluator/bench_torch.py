"""The evaluator beside eager PyTorch: same weights, same event, one thread each, taking turns in one run.

    bench_torch.py BENCH_EVALUATOR [--rounds 7] [--sizes 1000,2000,4000] [--models attention,heptv2]

Prints a table of medians, the ratio ours/torch, the peak memory of each process and the largest difference of
outputs; then how much the machine disturbed the figures. Exits 1 if a difference shows that the two sides do not
compute the same."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

FORMS = ("math", "sdpa")
SECONDS_A_TURN = 0.4  # evaluations of one side before the other's turn
TOLERANCE = 5e-5  # FP32 against FP32; a different bucket of HEPTv2 shows as 1e-2


def resident(field):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return -1


def torch_side(model, form, folder):
    """The other side of bench_evaluator: the same commands on stdin, the same answers."""
    import numpy as np
    import torch
    import torch_mlpf

    torch.set_num_threads(1)
    core = torch_mlpf.core_sdpa if form == "sdpa" else torch_mlpf.core_math
    with np.load(f"{folder}/weights.npz") as arrays:
        weights = torch_mlpf.Weights({name: arrays[name] for name in arrays.files})
    with np.load(f"{folder}/case.npz") as arrays:
        x, mask = torch.from_numpy(arrays["Xfeat_normed"]), torch.from_numpy(arrays["mask"])
    outputs = {}
    before = resident("VmRSS")
    print("ready", flush=True)
    with torch.no_grad():
        for line in sys.stdin:
            command, *rest = line.split()
            if command == "f32":
                times = []
                for _ in range(int(rest[0])):
                    start = time.perf_counter_ns()
                    outputs = torch_mlpf.forward(weights, model, x, mask, core)
                    times.append(time.perf_counter_ns() - start)
                print(*times, flush=True)
            elif command == "save":
                np.savez(f"{folder}/{rest[0]}", **{k: v.numpy() for k, v in outputs.items()})
                print("saved", flush=True)
            elif command == "memory":
                print(before, resident("VmHWM"), flush=True)
            elif command == "about":
                capability = torch.backends.cpu.get_cpu_capability()
                print(f"PyTorch {torch.__version__}, {capability}, {torch.get_num_threads()} thread", flush=True)


class Side:
    def __init__(self, command):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        if self.answer() != "ready":
            sys.exit(f"bench: '{' '.join(command)}' did not start")

    def answer(self):
        return self.process.stdout.readline().strip()

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.answer()

    def times(self, command):
        return [int(t) for t in self.ask(command).split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def largest_difference(folder):
    import numpy as np

    with np.load(f"{folder}/ours.npz") as ours, np.load(f"{folder}/torch.npz") as theirs:
        return max(float(np.abs(ours[h] - theirs[h]).max()) for h in ("bid", "id", "momentum"))


def spread(times):
    """Half the distance of the quartiles over the median."""
    q = statistics.quantiles(times, n=4)
    return (q[2] - q[0]) / 2 / statistics.median(times)


def cell(evaluator, model, size, form, rounds):
    with tempfile.TemporaryDirectory() as folder:
        ours = Side([evaluator, model, str(size), folder])
        torch = Side([sys.executable, __file__, "--torch-side", model, form, folder])
        samples = {ours: [], torch: []}
        for side in samples:  # warm-up, and how many fit in a turn
            side.times("f32 2")
        turns = {s: max(1, round(SECONDS_A_TURN * 1e9 / min(s.times("f32 2")))) for s in samples}
        for _ in range(rounds):
            for side, count in turns.items():
                samples[side] += side.times(f"f32 {count}")
        ours.ask("save ours.npz")
        torch.ask("save torch.npz")
        memory = {s: [int(m) for m in s.ask("memory").split()] for s in samples}
        result = {
            "model": model,
            "size": size,
            "form": form,
            "ours": statistics.median(samples[ours]) / 1e6,
            "torch": statistics.median(samples[torch]) / 1e6,
            "spread": max(spread(samples[ours]), spread(samples[torch])),
            "ours_f64": min(ours.times("f64 3")) / 1e6,
            "ours_peak": memory[ours][1] / 2**20,
            "torch_peak": memory[torch][1] / 2**20,
            "ours_added": (memory[ours][1] - memory[ours][0]) / 2**20,
            "torch_added": (memory[torch][1] - memory[torch][0]) / 2**20,
            "difference": largest_difference(folder),
            "about": (ours.ask("about"), torch.ask("about")),
        }
        ours.close()
        torch.close()
        return result


HEADER = (
    "| model | N | PyTorch form | ours, ms | torch, ms | ours/torch | spread | ours peak, MiB (added) "
    "| torch peak, MiB (added) | largest difference | ours FP64, ms |\n" + "| --- " * 11 + "|"
)


def row(c):
    return (
        f"| {c['model']} | {c['size']} | {c['form']} | {c['ours']:.1f} | {c['torch']:.1f} "
        f"| {c['ours'] / c['torch']:.2f} | {100 * c['spread']:.0f} % "
        f"| {c['ours_peak']:.0f} ({c['ours_added']:.0f}) | {c['torch_peak']:.0f} ({c['torch_added']:.0f}) "
        f"| {c['difference']:.1e} | {c['ours_f64']:.0f} |"
    )


def main():
    if sys.argv[1:2] == ["--torch-side"]:
        return torch_side(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("evaluator")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", default="1000,2000,4000")
    parser.add_argument("--models", default="attention,heptv2")
    options = parser.parse_args()
    load = os.getloadavg()
    cells = []
    print(HEADER, flush=True)
    for model in options.models.split(","):
        for size in options.sizes.split(","):
            for form in FORMS:
                cells.append(cell(options.evaluator, model, int(size), form, options.rounds))
                print(row(cells[-1]), flush=True)
    print()
    print("Ours: {}; one thread. Other side: {}.".format(*cells[0]["about"]))
    print(
        "Medians of all evaluations; the sides take turns of {} s. Spread: half the distance of the quartiles over the "
        "median, of the side where it is larger. Added memory: peak minus what was resident before the first "
        "evaluation.".format(SECONDS_A_TURN)
    )
    print("Load average before {:.2f}, after {:.2f}; {} processors.".format(load[0], os.getloadavg()[0], os.cpu_count()))
    slower = [c for c in cells if c["ours"] > c["torch"]]
    print("Evaluator slower than PyTorch in {} of {} cells.".format(len(slower), len(cells)))
    wrong = [c for c in cells if not c["difference"] <= TOLERANCE]
    for c in wrong:
        print(f"{c['model']} {c['size']} {c['form']}: outputs differ by {c['difference']:.1e}: not the same mathematics")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
