"""Real MNIST as users train it: 784-70-30 sigmoid, 10 logits, RMSprop 1e-3, L2 1e-5 on the first two layers, batch 500, 35 epochs, the
accuracy on the test set after each. Prints the seconds of the whole training, without imports and reading the files, which examples/mlp_mnist
prints for Sinter too (--validate).

    python mnist_fit.py keras|keras_jit|torch FOLDER [--threads 2] [--epochs 35]"""
import argparse, gzip, json, os, pathlib, time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("mode", choices=["keras", "keras_jit", "torch"])
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--epochs", type=int, default=35)
A = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(A.threads)
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np


def idx(name, header):
    path = A.folder / name
    data = gzip.open(f"{path}.gz").read() if pathlib.Path(f"{path}.gz").exists() else path.read_bytes()
    return np.frombuffer(data, np.uint8, offset=header)


x, y, xt, yt = (idx(n, h) for n, h in (("train-images-idx3-ubyte", 16), ("train-labels-idx1-ubyte", 8),
                                       ("t10k-images-idx3-ubyte", 16), ("t10k-labels-idx1-ubyte", 8)))
x, xt = (a.reshape(-1, 784).astype(np.float32) / 255 for a in (x, xt))


def keras_fit(jit):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(A.threads)
    tf.config.threading.set_inter_op_parallelism_threads(A.threads)
    import keras
    from keras import layers as K
    l2 = keras.regularizers.L2(1e-5)
    start = time.perf_counter()
    m = keras.Sequential([K.Input((784,)), K.Dense(70, "sigmoid", kernel_regularizer=l2), K.Dense(30, "sigmoid", kernel_regularizer=l2), K.Dense(10)])
    m.compile(keras.optimizers.RMSprop(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"], jit_compile=jit)
    h = m.fit(x, y, batch_size=500, epochs=A.epochs, validation_data=(xt, yt), validation_batch_size=10000, verbose=0)
    return h.history["val_accuracy"][-1], time.perf_counter() - start


def torch_fit():
    import torch
    from torch import nn
    torch.set_num_threads(A.threads)
    X, Y, XT, YT = torch.from_numpy(x), torch.from_numpy(y.astype(np.int64)), torch.from_numpy(xt), torch.from_numpy(yt.astype(np.int64))
    start = time.perf_counter()
    m = nn.Sequential(nn.Linear(784, 70), nn.Sigmoid(), nn.Linear(70, 30), nn.Sigmoid(), nn.Linear(30, 10))
    for layer in m[::2]:
        nn.init.xavier_uniform_(layer.weight), nn.init.zeros_(layer.bias)
    opt = torch.optim.RMSprop(m.parameters(), lr=1e-3, alpha=0.9, eps=1e-7)
    for _ in range(A.epochs):
        order = torch.randperm(len(X))
        for i in range(0, len(X), 500):
            rows = order[i:i + 500]
            loss = nn.functional.cross_entropy(m(X[rows]), Y[rows]) + 1e-5 * ((m[0].weight ** 2).sum() + (m[2].weight ** 2).sum())
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        with torch.no_grad():
            accuracy = (m(XT).argmax(1) == YT).float().mean().item()
    return accuracy, time.perf_counter() - start


accuracy, seconds = torch_fit() if A.mode == "torch" else keras_fit(A.mode == "keras_jit")
print(json.dumps({"mode": A.mode, "epochs": A.epochs, "threads": A.threads, "test_accuracy": round(accuracy, 4), "seconds": round(seconds, 2)}))
