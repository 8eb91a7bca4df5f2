#!/usr/bin/env python3
"""The ONNX checker over exported models: check_models.py FILE.onnx...

Runs onnx.checker with full_check (types and shapes are inferred and compared with what the file
says), and holds our own promises: named nodes, unique names, no node and no initialiser without a
use. Exits with 77 (skipped) where the Python package `onnx` is not installed.
"""
import sys

try:
    import onnx
except ImportError:
    print("skipped: the Python package 'onnx' is not installed")
    sys.exit(77)


def problems(path):
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as error:  # the checker has several kinds
        yield str(error)
        return
    graph = onnx.load(path).graph
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


def main(paths):
    n_problems = 0
    for path in paths:
        for problem in problems(path):
            print(f"{path}: {problem}")
            n_problems += 1
    print(f"onnx {onnx.__version__}: {len(paths)} models, {n_problems} problems")
    return 1 if n_problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
