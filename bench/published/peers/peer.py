"""What the peers' scripts of published experiments share: command line, pinning, and the JSON lines (../README.md). One framework runs in one process:
their thread pools would disturb each other."""
import argparse, gzip, importlib.util, json, math, os, pathlib, sys, time


class Peer:
    """A series' command line and its lines. `frameworks`: name -> (module that it needs or "", function(peer))."""
    def __init__(self, series, frameworks):
        p = argparse.ArgumentParser()
        p.add_argument("framework", nargs="?", choices=list(frameworks))
        p.add_argument("--list", action="store_true", help="print the frameworks that can be imported and exit")
        p.add_argument("--threads", type=int, default=2)
        p.add_argument("--data")
        p.add_argument("--quick", action="store_true")
        p.add_argument("--full", action="store_true")
        p.add_argument("--generated", action="store_true")
        a = p.parse_args()
        self.series, self.framework, self.threads, self.data, self.quick, self.full, self.generated = series, a.framework, a.threads, a.data, a.quick, a.full, a.generated
        if a.list:
            print("\n".join(name for name, (module, _) in frameworks.items() if not module or importlib.util.find_spec(module)))
            sys.exit()
        if not a.framework:
            sys.exit(f"[peers] name a framework: {' '.join(frameworks)}")
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:a.threads])
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ[variable] = str(a.threads)
        os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", KERAS_BACKEND="tensorflow", JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="-1")
        frameworks[a.framework][1](self)

    def line(self, **values):
        print(json.dumps({"series": self.series, **values}), flush=True)

    def cell(self, row, mode, value, unit, note=""):
        """A figure in the column of this framework; a mode of "default", "best" or "" for a framework that has one way."""
        value = value if math.isfinite(value) else None
        self.line(row=row, column=f"{self.framework} {mode}".strip(), value=value, unit=unit, note=note)

    def point(self, chart, curve, x, y):
        self.line(chart=chart, curve=curve, x=x, y=float(y))

    def remark(self, text):
        self.line(remark=text)


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def least_seconds(repeats, call):
    """The least of so many calls, after one that warms up."""
    call()
    return min(seconds_of(call) for _ in range(repeats))


def median_seconds(call, seconds, most=1000, least=3):
    """The median seconds of a call and the number of calls, for so many seconds, after one that warms up."""
    call()
    each = []
    while len(each) < least or (len(each) < most and sum(each) < seconds):
        each.append(seconds_of(call))
    return sorted(each)[len(each) // 2], len(each)


def tensorflow_on(threads):
    """TensorFlow and Keras on so many threads."""
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    import keras
    keras.utils.set_random_seed(1)
    return tf, keras


def torch_on(threads):
    """PyTorch on so many threads; what it compiles is not kept on disk."""
    os.environ.update(TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", TORCHINDUCTOR_COMPILE_THREADS="1")
    import torch
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    return torch


def images(peer):
    """Training and test images u8 [n, 784] and labels, of the same files as Sinter's; generated ones are of the same kind."""
    import numpy as np
    folder = pathlib.Path(peer.data or "") / "mnist" if peer.data else None
    if not folder or not folder.is_dir():
        folder = pathlib.Path("/usr/share/datasets/fashion-mnist")
    if peer.generated or not folder.is_dir():
        thousands = 1 if peer.quick else 10
        random = np.random.default_rng(0)
        sets = []
        for count in (6000 * thousands, 1000 * thousands):
            y = random.integers(0, 10, count).astype(np.uint8)
            p = np.arange(784)
            bright = (p // 56 % 10 == y[:, None]) | (p % 28 // 3 == y[:, None])
            sets += [(random.integers(0, 128, (count, 784)) + 96 * bright).astype(np.uint8), y]
        return sets

    def read(name, header):
        found = [path for path in folder.iterdir() if path.name.replace(".gz", "").replace(".", "-") == name]
        data = gzip.open(found[0]).read() if found[0].suffix == ".gz" else found[0].read_bytes()
        return np.frombuffer(data, np.uint8, offset=header)
    return [read("train-images-idx3-ubyte", 16).reshape(-1, 784), read("train-labels-idx1-ubyte", 8),
            read("t10k-images-idx3-ubyte", 16).reshape(-1, 784), read("t10k-labels-idx1-ubyte", 8)]
