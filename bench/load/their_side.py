"""The other side of bench_load: the same commands on stdin, the same answers, by PyTorch (list, read, read_mapped, hash),
Google's array_record (raw, raws), TFDS without TensorFlow (event, events, check) and PyPI's tfrecord (tfrecord)."""

import hashlib
import os
import sys
import time


def peak_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def indices(count, n):
    state = 1
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (state >> 33) % n


# ---- PyTorch


def tensors(path, mmap):
    import torch

    return torch.load(path, mmap=mmap, weights_only=True)["model_state_dict"]


def list_mapped(path):
    found = [(name, t.dtype, tuple(t.shape), t.numel() * t.itemsize) for name, t in tensors(path, True).items()]
    return sum(one[3] for one in found)


def list_read(path):
    found = [(name, t.dtype, tuple(t.shape), t.numel() * t.itemsize) for name, t in tensors(path, False).items()]
    return sum(one[3] for one in found)


def copy(path):
    return sum(t.numel() * t.itemsize for t in tensors(path, False).values())


def read_mapped(path):
    copies = [t.clone() for t in tensors(path, True).values()]
    return sum(t.numel() * t.itemsize for t in copies)


def hash_all(path):
    digests = [hashlib.sha256(t.numpy()).hexdigest() for t in tensors(path, True).values()]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def describe(path):
    """What assay inspect shows of a tensor."""
    for name, t in tensors(path, True).items():
        digest = hashlib.sha256(t.numpy()).hexdigest()
        print(name, t.dtype, tuple(t.shape), t.min().item(), t.max().item(), t.mean().item(), digest, file=sys.stderr)
    return 0


# ---- records


def raw(count, *paths):
    from array_record.python import array_record_module as module

    n_bytes = 0
    for path in paths:  # the options that its documentation advises for random access
        reader = module.ArrayRecordReader(path, "readahead_buffer_size:0,max_parallelism:0")
        for i in indices(int(count), reader.num_records()):
            n_bytes += len(reader.read([i])[0])
        reader.close()
    return n_bytes


def raws(*paths):
    from array_record.python import array_record_module as module

    n_bytes = 0
    for path in paths:
        reader = module.ArrayRecordReader(path)
        n_bytes += sum(map(len, reader.read_all()))
        reader.close()
    return n_bytes


def raws_serial(*paths):
    from array_record.python import array_record_module as module

    n_bytes = 0
    for path in paths:
        reader = module.ArrayRecordReader(path, "readahead_buffer_size:0,max_parallelism:0")
        n_bytes += sum(len(reader.read([i])[0]) for i in range(reader.num_records()))
        reader.close()
    return n_bytes


def tfrecord(path):
    from tfrecord.reader import tfrecord_loader

    return sum(sum(a.nbytes for a in event.values()) for event in tfrecord_loader(path, None))


# ---- events


def source(folder):
    import tensorflow_datasets as tfds

    return tfds.builder_from_directory(folder).as_data_source(split="train")


def size_of(event):
    return sum(getattr(a, "nbytes", 4) for a in event.values())  # a scalar is a float of Python's own


def event(count, folder):
    data = source(folder)
    return sum(size_of(data[i]) for i in indices(int(count), len(data)))


def events(folder):
    data = source(folder)
    return sum(size_of(data[i]) for i in range(len(data)))


def check(folder):
    import json

    import numpy as np

    with open(f"{folder}/features.json") as text:
        names = list(json.load(text)["featuresDict"]["features"])
    data, digests = source(folder), []
    for i in range(len(data)):
        one = data[i]
        for name in names:
            digests.append(hashlib.sha256(np.ascontiguousarray(one[name], dtype="<f4")).hexdigest())
    return hashlib.sha256("".join(digests).encode()).hexdigest()


COMMANDS = {
    "list": list_mapped,
    "list_read": list_read,
    "read": copy,
    "read_mapped": read_mapped,
    "hash": hash_all,
    "describe": describe,
    "raw": raw,
    "raws": raws,
    "raws_serial": raws_serial,
    "event": event,
    "events": events,
    "check": check,
    "tfrecord": tfrecord,
    "memory": lambda: peak_bytes(),
}


def main():
    os.environ.setdefault("TFDS_DATA_DIR", "/nonexistent")  # keeps TFDS from looking around in the home folder
    for line in sys.stdin:
        command, *rest = line.split()
        start, cpu = time.perf_counter_ns(), time.process_time_ns()
        result = COMMANDS[command](*rest)
        print(time.perf_counter_ns() - start, time.process_time_ns() - cpu, result, flush=True)


if __name__ == "__main__":
    main()
