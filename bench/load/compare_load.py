"""assay beside PyTorch and the reference readers of datasets, taking turns on one processor in one run.

    compare_load.py ASSAY BENCH_LOAD TORCH_PYTHON READERS_PYTHON [--rounds 5] [--bytes 1000000000] [--events 150]

Makes its files in a temporary folder and removes them. Prints a row for each thing that is measured; exits 1 if assay
is slower in one of them, takes more memory than it promises, or reads anything else than the other side."""

import argparse
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 2**20
SLACK_BYTES = 24 * MIB  # program, libraries, pickle and tables beside the mapped file and one tensor
BUSY = 0.05  # with more noise than this the clock cannot tell, and processor time is compared


class Side:
    """A process that answers one line for each command."""

    def __init__(self, command):
        pipe = subprocess.PIPE
        self.command = command
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 3:
            sys.exit(f"bench/load: {self.command[0]} gave no answer to '{command}'")
        return int(answer[0]), int(answer[1]), answer[2]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def whole_process(command, line=None):
    """Nanoseconds from the start of a process to its end, by the clock and of processor time."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter_ns()
    done = subprocess.run(command, input=line and line + "\n", capture_output=True, text=True)
    wall, after = time.perf_counter_ns() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"bench/load: '{' '.join(command)}' ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, round(cpu * 1e9)


def noise_of(ratios):
    """Twice the error of a median of these, as a share of it."""
    logs = [math.log(r) for r in ratios]
    return math.exp(2 * 1.253 * statistics.stdev(logs) / math.sqrt(len(logs))) - 1


class Row:
    def __init__(self, what, ours, theirs):
        """ours, theirs: [(wall ns, cpu ns)] of each round."""
        self.what = what
        self.ours, self.theirs = ([statistics.median(s[k] for s in side) for k in (0, 1)] for side in (ours, theirs))
        ratios = [[a[k] / max(1, b[k]) for a, b in zip(ours, theirs)] for k in (0, 1)]
        self.ratio = [statistics.median(r) for r in ratios]
        self.noise = [noise_of(r) for r in ratios]
        self.by = 0 if self.noise[0] <= BUSY or max(ratios[0]) < 1 else 1
        ratio = self.ratio[self.by]
        self.verdict = "wins" if ratio < 1 else "slower" if ratio > 1 + self.noise[self.by] else "level"

    def text(self):
        (wall, cpu), (their_wall, their_cpu) = self.ours, self.theirs
        return (
            f"| {self.what} | {wall / 1e6:.2f} | {their_wall / 1e6:.2f} | {self.ratio[0]:.3f} ± {100 * self.noise[0]:.0f} % "
            f"| {cpu / 1e6:.2f} | {their_cpu / 1e6:.2f} | {self.ratio[1]:.3f} ± {100 * self.noise[1]:.0f} % | {self.verdict} |"
        )


HEADER = (
    "| what | assay, ms | other, ms | ratio | assay, CPU ms | other, CPU ms | ratio | |\n" + "| --- " * 8 + "|"
)


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder, self.rows, self.faults = options, folder, [], []
        self.our_command = [options.bench_load]
        self.torch_command = [options.torch_python, "-B", f"{HERE}/their_side.py"]
        self.reader_command = [options.readers_python, "-B", f"{HERE}/their_side.py"]

    def add(self, row):
        self.rows.append(row)
        print(row.text(), flush=True)

    def warm(self, what, ours, command, theirs, their_command=None):
        """Processes that have started and have loaded what they need; a first pair is not counted."""
        samples = ([], [])
        for i in range(self.options.rounds + 1):
            order = ((0, ours, command), (1, theirs, their_command or command))
            found = {k: side.ask(line) for k, side, line in (order if i % 2 == 0 else order[::-1])}
            if found[0][2] != found[1][2]:
                self.faults.append(f"{what}: {found[0][2]} here, {found[1][2]} there")
            if i > 0:
                for k in (0, 1):
                    samples[k].append(found[k][:2])
        self.add(Row(what, *samples))

    def fresh(self, what, our_command, their_command, line, their_line=None):
        """The first call of its kind in a process that has started and has loaded what it needs: into memory that the
        process has not had before, as anybody reads a checkpoint."""
        samples = ([], [])
        for i in range(self.options.rounds):
            order = ((0, our_command, line), (1, their_command, their_line or line))
            for k, command, one in order if i % 2 == 0 else order[::-1]:
                side = Side(command)
                side.ask("list " + one.split()[-1])
                samples[k].append(side.ask(one)[:2])
                side.close()
        self.add(Row(what, *samples))

    def cold(self, what, our_command, our_line, their_command, their_line):
        samples = ([], [])
        for i in range(self.options.rounds):
            order = ((0, our_command, our_line), (1, their_command, their_line))
            for k, command, line in order if i % 2 == 0 else order[::-1]:
                samples[k].append(whole_process(command, line))
        self.add(Row(what + ", whole process", *samples))

    def memory(self, what, line, bound=None, their_command=None, their_line=None):
        ours = Side(self.our_command)
        ours.ask(line)
        peak, text = int(ours.ask("memory")[2]), ""
        ours.close()
        if their_command:
            theirs = Side(their_command)
            theirs.ask(their_line or line)
            text = f", other {int(theirs.ask('memory')[2]) / MIB:.0f} MiB"
            theirs.close()
        if bound is not None:
            text += f"; promised at most {bound / MIB:.0f} MiB"
            if peak > bound:
                self.faults.append(f"{what}: {peak / MIB:.0f} MiB, promised {bound / MIB:.0f}")
        print(f"{what}: assay {peak / MIB:.0f} MiB{text}", flush=True)

    def checkpoint(self, path):
        ours, torch = Side(self.our_command), Side(self.torch_command)
        if ours.ask(f"hash {path}")[2] != torch.ask(f"hash {path}")[2]:
            self.faults.append("the tensors of the checkpoint differ")
        self.warm("list, torch.load(mmap=True)", ours, f"list {path}", torch)
        self.warm("list, torch.load()", ours, f"list {path}", torch, f"list_read {path}")
        ours.close()
        torch.close()
        assay, sides = [self.options.assay, "inspect"], (self.our_command, self.torch_command)
        self.fresh("read all tensors, torch.load()", *sides, f"read {path}")
        self.fresh("read all tensors, torch.load(mmap=True) and clone()", *sides, f"read {path}", f"read_mapped {path}")
        self.cold("list", assay + ["--no-values", path], None, self.torch_command, f"list {path}")
        self.cold("read all tensors", self.our_command, f"read {path}", self.torch_command, f"read {path}")
        self.cold("describe: least, greatest, mean, SHA-256", assay + [path], None, self.torch_command, f"describe {path}")

    def checkpoint_memory(self, path):
        mapped, tensor = os.path.getsize(path), 4 * 1024 * 2048
        self.memory("list", f"list {path}", SLACK_BYTES, self.torch_command)
        self.memory("one tensor after the other", f"hash {path}", mapped + tensor + SLACK_BYTES, self.torch_command)
        self.memory("all tensors kept", f"read {path}", 2 * mapped + tensor + SLACK_BYTES, self.torch_command)

    def dataset(self, folder, name, group):
        version = f"{folder}/{name}/1.0.0"
        shard = f"{version}/{name}-train.array_record-00000-of-00001"
        n = 100 if group == 1 else 10
        ours, readers = Side(self.our_command), Side(self.reader_command)
        if ours.ask(f"check {version}")[2] != readers.ask(f"check {version}")[2]:
            self.faults.append(f"the arrays of {name} differ")
        label = f"{name.split('_')[1]}, group size {group}"
        self.warm(f"{label}: {n} records at random, array_record", ours, f"raw {n} {shard}", readers)
        self.warm(f"{label}: all records, array_record's read_all()", ours, f"raws {shard}", readers)
        self.warm(f"{label}: all records, array_record's read([i])", ours, f"raws {shard}", readers, f"raws_serial {shard}")
        self.warm(f"{label}: {n} events at random, TFDS", ours, f"event {n} {version}", readers)
        self.warm(f"{label}: all events, TFDS", ours, f"events {version}", readers)
        ours.close()
        readers.close()

    def datasets(self, folder):
        for codec in ("uncompressed", "brotli", "zstd", "snappy"):
            for group in (1, 16):
                self.dataset(folder, f"bench_{codec}_{group}", group)
        ours, readers = Side(self.our_command), Side(self.reader_command)
        self.warm("TFRecord: all events, tfrecord", ours, f"tfrecord {folder}/events.tfrecord", readers)
        ours.close()
        readers.close()
        version = f"{folder}/bench_zstd_1/1.0.0"
        for what, line in (("one event", f"event 1 {version}"), ("all events", f"events {version}")):
            self.cold(f"zstd, group size 1: {what}, TFDS", self.our_command, line, self.reader_command, line)

    def dataset_memory(self, folder):
        for codec in ("uncompressed", "zstd"):
            version = f"{folder}/bench_{codec}_16/1.0.0"
            mapped = sum(os.path.getsize(f"{version}/{name}") for name in os.listdir(version))
            bound = mapped + 16 * 2 * MIB + SLACK_BYTES  # one chunk, packed and unpacked
            self.memory(f"all events, {codec}, group size 16", f"events {version}", bound, self.reader_command)


def make(python, *arguments):
    subprocess.run([python, "-B", f"{HERE}/make_files.py", *arguments], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("assay", "bench_load", "torch_python", "readers_python"):
        parser.add_argument(name)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=10**9)
    parser.add_argument("--events", type=int, default=150)
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # inherited by both sides
    load = os.getloadavg()
    with tempfile.TemporaryDirectory(prefix="bench-load-") as folder:
        bench, path = Bench(options, folder), f"{folder}/checkpoint.pth"
        make(options.torch_python, "checkpoint", path, "--bytes", str(options.bytes))
        make(options.readers_python, "datasets", folder, "--events", str(options.events))
        print(f"Checkpoint of {os.path.getsize(path) / 1e9:.2f} GB.\n\n" + HEADER, flush=True)
        bench.checkpoint(path)
        bench.datasets(folder)
        print("\nPeak resident memory of a process, mapped files among it:\n", flush=True)
        bench.checkpoint_memory(path)
        bench.dataset_memory(folder)
    print(f"\nMedians of {options.rounds} rounds, the sides in turn on one processor.")
    print("The noise of a ratio is twice the error of its median.")
    print(f"Load average before {load[0]:.2f}, after {os.getloadavg()[0]:.2f}; {os.cpu_count()} processors.")
    for row in bench.rows:
        if row.verdict == "slower":
            bench.faults.append(f"{row.what}: slower, {row.ratio[row.by]:.2f} of the other side's time")
    wins = sum(row.verdict == "wins" for row in bench.rows)
    print(f"assay wins {wins} of {len(bench.rows)}.")
    for fault in bench.faults:
        print(f"MISSED: {fault}")
    return 1 if bench.faults else 0


if __name__ == "__main__":
    sys.exit(main())
