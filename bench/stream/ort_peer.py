"""ONNX Runtime called per record, as a Python program reads a stream: records of 30 numbers on standard input, answers on standard output.

    ort_peer.py raw|json|csv

The model is that of bench/stream/records.cpp, 30 -> 32 relu -> 2 softmax, with random weights. Answers are not flushed one by one, which is in its favour."""
import json, os, sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
import onnxruntime as ort

NAMES = [f"v{i}" for i in range(1, 31)]


def session():
    random = np.random.default_rng(1)
    weight = lambda name, *shape: numpy_helper.from_array((random.uniform(-1, 1, shape) / shape[0] ** .5).astype("float32"), name)
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Gemm", ["r", "w2", "b2"], ["z"]), helper.make_node("Softmax", ["z"], ["y"])]
    value = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "g", [value("x", 1, 30)], [value("y", 1, 2)],
                              [weight("w1", 30, 32), weight("b1", 32), weight("w2", 32, 2), weight("b2", 2)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def records(form):
    """Each record as float32 [1, 30], as it comes."""
    source = sys.stdin.buffer
    if form == "raw":
        while len(record := source.read(120)) == 120:
            yield np.frombuffer(record, "<f4").reshape(1, 30)
    for line in source:
        if form == "json":
            fields = json.loads(line)
            yield np.array([[fields[name] for name in NAMES]], "float32")
        else:
            yield np.array([line.split(b",")], "float32")


def main():
    form, run, out = sys.argv[1], session().run, sys.stdout.buffer
    for number, x in enumerate(records(form)):
        p = run(None, {"x": x})[0]
        if form == "raw":
            out.write(p.tobytes())
        else:
            normal, fraud = p[0].tolist()
            name = "normal" if normal > fraud else "fraud"
            answer = json.dumps({"prediction": name, "probabilities": {"normal": normal, "fraud": fraud}}) if form == "json" else f"{name},{normal},{fraud}"
            out.write(answer.encode() + b"\n")
        if number == 0:  # the program that measures waits for it
            out.flush()


main()
