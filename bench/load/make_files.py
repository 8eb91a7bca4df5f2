"""Makes what the benchmark of loading reads.

    make_files.py checkpoint FILE [--bytes 1000000000]      with torch
    make_files.py datasets FOLDER [--events 150]            with array_record, tfrecord's wire format by hand

Random numbers, of fixed seeds: a checkpoint of layers of 8 MB as training scripts save it, and events with the columns
and sizes of a CMS dataset, of which half of the values are zero as in those. Each codec and group size is a TFDS folder
of its own with the same records."""

import json
import os
import struct
import sys

CODECS = ("uncompressed", "brotli", "zstd", "snappy")
GROUPS = (1, 16)


def option(name, default):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else default


def make_checkpoint(path, n_bytes):
    import collections

    import torch

    torch.manual_seed(1)
    layers, n = collections.OrderedDict(), 0
    while n < n_bytes:
        i = len(layers) // 2
        layers[f"backbone.{i}.weight"] = torch.randn(1024, 2048)
        layers[f"backbone.{i}.bias"] = torch.randn(1024)
        n += 4 * 1024 * 2049
    torch.save({"model_state_dict": layers, "extra_state": {"step": 1, "lr": 1e-3}}, path)


FEATURES = {"X": (-1, 55), "ytarget": (-1, 13), "ycand": (-1, 13), "genjets": (-1, 4), "genmet": ()}


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def example(arrays):
    """tf.train.Example: Features { map { key = 1, Feature { FloatList { packed } } } }."""
    entries = b""
    for name, array in arrays.items():
        feature = field(2, field(1, array.astype("<f4").tobytes()))
        entries += field(1, field(1, name.encode()) + field(2, feature))
    return field(1, entries)


def make_event(rng):
    n = int(rng.integers(300, 1500))
    arrays = {}
    for name, shape in FEATURES.items():
        dims = [(n if name in ("X", "ytarget", "ycand") else 7) if d < 0 else d for d in shape]
        arrays[name] = rng.normal(size=dims) * (rng.random(size=dims) < 0.5)
    return example(arrays)


def describe(folder, name, n_events, n_bytes):
    def tensor(shape):
        dims = {"dimensions": [str(d) for d in shape]} if shape else {}
        return {
            "pythonClassName": "tensorflow_datasets.core.features.tensor_feature.Tensor",
            "tensor": {"shape": dims, "dtype": "float32", "encoding": "none"},
        }

    features = {
        "pythonClassName": "tensorflow_datasets.core.features.features_dict.FeaturesDict",
        "featuresDict": {"features": {key: tensor(shape) for key, shape in FEATURES.items()}},
    }
    info = {
        "name": name,
        "version": "1.0.0",
        "fileFormat": "array_record",
        "splits": [{"name": "train", "shardLengths": [str(n_events)], "numBytes": str(n_bytes)}],
    }
    for file, content in (("features.json", features), ("dataset_info.json", info)):
        with open(f"{folder}/{file}", "w") as out:
            json.dump(content, out)


def mask(crc):
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def write_tfrecord(path, records):
    import crc32c

    with open(path, "wb") as out:
        for record in records:
            length = struct.pack("<Q", len(record))
            out.write(length + struct.pack("<I", mask(crc32c.crc32c(length))))
            out.write(record + struct.pack("<I", mask(crc32c.crc32c(record))))


def make_datasets(folder, n_events):
    import numpy as np
    from array_record.python import array_record_module

    rng = np.random.default_rng(7)
    records = [make_event(rng) for _ in range(n_events)]
    n_bytes = sum(map(len, records))
    for codec in CODECS:
        for group in GROUPS:
            name = f"bench_{codec}_{group}"
            version = f"{folder}/{name}/1.0.0"
            os.makedirs(version)
            writer = array_record_module.ArrayRecordWriter(
                f"{version}/{name}-train.array_record-00000-of-00001", f"group_size:{group},{codec}"
            )
            for record in records:
                writer.write(record)
            writer.close()
            describe(version, name, n_events, n_bytes)
    write_tfrecord(f"{folder}/events.tfrecord", records)
    print(f"{n_events} events, {n_bytes / 1e6:.0f} MB unpacked")


if __name__ == "__main__":
    if sys.argv[1] == "checkpoint":
        make_checkpoint(sys.argv[2], option("--bytes", 10**9))
    else:
        make_datasets(sys.argv[2], option("--events", 150))
