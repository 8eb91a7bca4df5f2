#!/usr/bin/env python3
"""The ONNX checker over exported models: check_models.py FILE.onnx...

Runs onnx.checker with full_check (types and shapes are inferred, strictly, and compared with what
the file says), and holds our own promises: named nodes, unique names, no node and no initialiser
without a use; every value has an inferred type and rank, and in a model with fixed inputs an
inferred size in every dimension. For com.microsoft's MultiHeadAttention, which the package `onnx`
does not know, its arity, types and output shape are declared here. Exits with 77 (skipped) where
the Python package `onnx` is not installed.
"""
import sys

try:
    import onnx
    from onnx import defs, shape_inference
except ImportError:
    print("skipped: the Python package 'onnx' is not installed")
    sys.exit(77)


def infer_attention(context):
    """[B,N,E] of query and value give the shape of the output (heads packed into E)."""
    out = onnx.TypeProto()
    query, value = context.get_input_type(0), context.get_input_type(2)
    out.tensor_type.elem_type = query.tensor_type.elem_type
    out.tensor_type.shape.dim.extend(query.tensor_type.shape.dim[:2])
    out.tensor_type.shape.dim.append(value.tensor_type.shape.dim[2])
    context.set_output_type(0, out)


def declare_attention():
    """MultiHeadAttention as the graphs use it. Source: onnxruntime, docs/ContribOperators.md."""
    schema = defs.OpSchema
    optional = schema.FormalParameterOption.Optional
    tensor = schema.FormalParameter
    inputs = [tensor("query", "T")]
    for name in ("key", "value", "bias"):
        inputs.append(tensor(name, "T", param_option=optional))
    inputs.append(tensor("key_padding_mask", "M", param_option=optional))
    for name in ("attention_bias", "past_key", "past_value"):
        inputs.append(tensor(name, "T", param_option=optional))
    kinds = schema.AttrType
    attributes = [schema.Attribute("num_heads", kinds.INT, required=True)]
    for name, kind in (("scale", kinds.FLOAT), ("mask_filter_value", kinds.FLOAT), ("unidirectional", kinds.INT)):
        attributes.append(schema.Attribute(name, kind, required=False))
    one = schema(
        "MultiHeadAttention",
        "com.microsoft",
        1,
        inputs=inputs,
        outputs=[tensor("output", "T")],
        type_constraints=[("T", ["tensor(float)", "tensor(float16)"], ""), ("M", ["tensor(int32)"], "")],
        attributes=attributes,
    )
    one.set_type_and_shape_inference_function(infer_attention)
    defs.register_schema(one)


def inference_problems(model):
    """Values whose type, rank or (behind fixed inputs) size does not follow from the graph."""
    graph = shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True).graph
    values = {v.name: v.type.tensor_type for v in [*graph.value_info, *graph.input, *graph.output]}
    is_fixed = all(d.HasField("dim_value") for v in graph.input for d in v.type.tensor_type.shape.dim)
    for node in graph.node:
        for name in filter(None, node.output):
            tensor = values.get(name)
            if tensor is None or tensor.elem_type == 0 or not tensor.HasField("shape"):
                yield f"node '{node.name}': the type of '{name}' cannot be inferred"
            elif is_fixed and not all(d.HasField("dim_value") for d in tensor.shape.dim):
                yield f"node '{node.name}': the shape of '{name}' cannot be inferred"


def use_problems(graph):
    names = [node.name for node in graph.node]
    if "" in names:
        yield "a node without a name"
    if len(set(names)) != len(names):
        yield "two nodes of one name"
    used = {name for node in graph.node for name in node.input} | {o.name for o in graph.output}
    for node in graph.node:
        if not any(name in used for name in node.output):
            yield f"node '{node.name}' is used by nothing"
    for initializer in graph.initializer:
        if initializer.name not in used:
            yield f"initialiser '{initializer.name}' is used by nothing"


def problems(path):
    try:
        onnx.checker.check_model(path, full_check=True)
        model = onnx.load(path)
        yield from inference_problems(model)
    except Exception as error:  # checker and inference have several kinds
        yield str(error)
        return
    yield from use_problems(model.graph)


def main(paths):
    declare_attention()
    n_problems = 0
    for path in paths:
        for problem in problems(path):
            print(f"{path}: {problem}")
            n_problems += 1
    print(f"onnx {onnx.__version__}: {len(paths)} models, {n_problems} problems")
    return 1 if n_problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
