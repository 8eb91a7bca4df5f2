"""Plants one fault in a bundle's graph: plant_fault.py BUNDLE FAULT. The manifest is made to fit the changed file, as it
would if the exporter had the fault. Faults that a whole class of exporters makes; each says which block it is in."""

import hashlib
import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

bundle = pathlib.Path(sys.argv[1])
fault = sys.argv[2]
path = bundle / "model.onnx"
model = onnx.load(path)
graph = model.graph


def node(name):
    (found,) = [n for n in graph.node if n.name == name]
    return found


def weight(name):
    (found,) = [t for t in graph.initializer if t.name == name]
    return found


def set_weight(name, change):
    tensor = weight(name)
    array = change(numpy_helper.to_array(tensor).copy())
    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), name))


def insert_before(target, *nodes):
    at = list(graph.node).index(target)
    for i, one in enumerate(nodes):
        graph.node.insert(at + i, one)


def skip(name):
    """The node's first input takes the place of its output."""
    gone = node(name)
    for one in graph.node:
        for i, value in enumerate(one.input):
            if value == gone.output[0]:
                one.input[i] = gone.input[0]
    graph.node.remove(gone)


def mask_constant():
    graph.initializer.append(numpy_helper.from_array(np.float32(-2), "fault"))
    node("entry/key_bias").input[2] = "fault"


def missing_mask():
    for name in [n.name for n in graph.node if n.name.endswith("/mask_keys")]:
        skip(name)


def scale():  # 1/sqrt(16) is folded into the columns of q
    def undo(array):
        array[..., : array.shape[-1] // 3] *= 4
        return array

    set_weight("backbone.1/attention/qkv/weight", undo)
    set_weight("backbone.1/attention/qkv/bias", undo)


def transposed_weight():
    set_weight("backbone.1/attention/out_proj/weight", np.transpose)


def swapped_heads():
    def swap(array):  # rows of head 2 and head 5, 16 each
        array[32:48], array[80:96] = array[80:96].copy(), array[32:48].copy()
        return array

    set_weight("backbone.0/attention/out_proj/weight", swap)


def half_hash():  # coordinates through FP16, as a conversion of the whole graph leaves them
    for layer in range(3):
        for part in ("eta", "phi"):
            one = node(f"backbone.{layer}/hash/{part}_part")
            half, back = f"f_{layer}_{part}_half", f"f_{layer}_{part}_back"
            insert_before(
                one,
                helper.make_node("Cast", [one.input[0]], [half], to=onnx.TensorProto.FLOAT16),
                helper.make_node("Cast", [half], [back], to=onnx.TensorProto.FLOAT),
            )
            one.input[0] = back


def unstable_sort():  # later elements first among equals
    order = node("backbone.0/hash/order")
    for name, value in (("f_end", -1), ("f_far", -(2**31)), ("f_axis", 2)):
        graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), name))
    places = order.output[1]
    order.output[1] = "f_places"
    insert_before(order, helper.make_node("Slice", [order.input[0], "f_end", "f_far", "f_axis", "f_end"], ["f_keys"]))
    order.input[0] = "f_keys"
    at = list(graph.node).index(order) + 1
    graph.node.insert(at, helper.make_node("Add", ["sorting/n_elems", "f_end"], ["f_last"]))
    graph.node.insert(at + 1, helper.make_node("Sub", ["f_last", "f_places"], [places]))


def wrong_epsilon():
    (epsilon,) = [a for a in node("backbone.1/norm1/LayerNormalization").attribute if a.name == "epsilon"]
    epsilon.f = 0.01


def dropped_bias():
    skip("backbone.0/seq/2/Add")


def gelu_variant():
    gelu = node("backbone.1/seq/1")
    assert gelu.op_type == "Gelu", gelu.op_type
    del gelu.attribute[:]
    gelu.attribute.append(helper.make_attribute("approximate", "tanh"))


def swapped_outputs():
    sin = [t for t in graph.initializer if "nn_sin_phi" in t.name]
    for one in sin:
        other = weight(one.name.replace("nn_sin_phi", "nn_cos_phi"))
        one.name, other.name = other.name, one.name
    assert sin


globals()[fault]()
onnx.save(model, path)
data = path.read_bytes()
manifest = json.loads((bundle / "manifest.json").read_text())
manifest["model"]["sha256"] = hashlib.sha256(data).hexdigest()
manifest["model"]["size_bytes"] = len(data)
(bundle / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
