"""The networks of bench/networks in PyTorch: `make(name)` is the module, `inputs(name, samples)` and `target(name, samples)` its data."""
import common
import torch
from torch import nn
import torch.nn.functional as F

tensor = torch.from_numpy


def normalized(i, o, size, stride=1, activation=None, groups=1):
    layers = [nn.Conv2d(i, o, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, *([activation()] if activation else []))


# ---- residual ----
class Residual(nn.Module):
    def __init__(self, body, i, o, stride):
        super().__init__()
        self.body = body
        self.shortcut = nn.Identity() if stride == 1 and i == o else normalized(i, o, 1, stride)
    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))

def basic(i, width, stride):
    return Residual(nn.Sequential(normalized(i, width, 3, stride, nn.ReLU), normalized(width, width, 3)), i, width, stride)

def bottleneck(i, width, stride):
    body = nn.Sequential(normalized(i, width, 1, 1, nn.ReLU), normalized(width, width, 3, stride, nn.ReLU), normalized(width, 4 * width, 1))
    return Residual(body, i, 4 * width, stride)

def resnet(block, expansion, blocks):
    layers, channels = [normalized(3, 64, 3, 1, nn.ReLU)], 64
    for stage, count in enumerate(blocks):
        for i in range(count):
            layers.append(block(channels, 64 << stage, 2 if stage and not i else 1))
            channels = expansion * (64 << stage)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


# ---- depthwise ----
class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduced):
        super().__init__()
        self.reduce, self.expand = nn.Linear(channels, reduced), nn.Linear(reduced, channels)
    def forward(self, x):
        return x * torch.sigmoid(self.expand(F.silu(self.reduce(x.mean((2, 3))))))[:, :, None, None]

class Inverted(nn.Module):
    def __init__(self, i, o, expansion, stride, size, activation, excites):
        super().__init__()
        inner, layers = i * expansion, []
        if expansion > 1:
            layers.append(normalized(i, inner, 1, 1, activation))
        layers.append(normalized(inner, inner, size, stride, activation, inner))
        if excites:
            layers.append(SqueezeExcite(inner, max(1, i // 4)))
        self.body, self.adds = nn.Sequential(*layers, normalized(inner, o, 1)), stride == 1 and i == o
    def forward(self, x):
        y = self.body(x)
        return x + y if self.adds else y

def inverted(stages, activation, excites):
    layers, channels = [normalized(3, 32, 3, 1, activation)], 32
    for expansion, o, blocks, stride, size in stages:
        for i in range(blocks):
            layers.append(Inverted(channels, o, expansion, 1 if i else stride, size, activation, excites))
            channels = o
    return nn.Sequential(*layers, normalized(channels, 1280, 1, 1, activation), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 10))

MOBILE = [(1, 16, 1, 1, 3), (6, 24, 2, 1, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3), (6, 96, 3, 1, 3), (6, 160, 3, 2, 3), (6, 320, 1, 1, 3)]
EFFICIENT = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]


# ---- images ----
def before(i, o, size):
    return nn.Sequential(nn.BatchNorm2d(i), nn.ReLU(), nn.Conv2d(i, o, size, padding=size // 2, bias=False))

class DenseBlock(nn.Module):
    def __init__(self, channels, growth):
        super().__init__()
        self.body = nn.Sequential(before(channels, 4 * growth, 1), before(4 * growth, growth, 3))
    def forward(self, x):
        return torch.cat([self.body(x), x], 1)

def densenet(growth=12):
    channels = 2 * growth
    layers = [nn.Conv2d(3, channels, 3, padding=1, bias=False)]
    for blocks in (6, 12, 24, 16):
        for _ in range(blocks):
            layers.append(DenseBlock(channels, growth))
            channels += growth
        if blocks != 16:
            layers += [before(channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
    return nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))

def twice(i, o):
    return nn.Sequential(normalized(i, o, 3, 1, nn.ReLU), normalized(o, o, 3, 1, nn.ReLU))

class Level(nn.Module):
    def __init__(self, i, o, below):
        super().__init__()
        self.down, self.below, self.grow, self.up = twice(i, o), below, nn.ConvTranspose2d(2 * o, o, 2, 2), twice(2 * o, o)
    def forward(self, x):
        seen = self.down(x)
        return self.up(torch.cat([self.grow(self.below(F.max_pool2d(seen, 2))), seen], 1))

def unet():
    level = twice(128, 256)
    for o in (128, 64, 32):
        level = Level(3 if o == 32 else o // 2, o, level)
    return nn.Sequential(level, nn.Conv2d(32, 1, 1))

class Shaped(nn.Module):
    def __init__(self, *dims):
        super().__init__()
        self.dims = dims
    def forward(self, x):
        return x.view(-1, *self.dims)

def autoencoder():
    down = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, 2, 1), nn.ReLU())
    up = lambda i, o, last: nn.Sequential(nn.ConvTranspose2d(i, o, 3, 2, 1, 1), last())
    return nn.Sequential(down(3, 32), down(32, 64), down(64, 128), nn.Flatten(), nn.Linear(8192, 64), nn.Linear(64, 8192), nn.ReLU(),
                         Shaped(128, 8, 8), up(128, 64, nn.ReLU), up(64, 32, nn.ReLU), up(32, 3, nn.Sigmoid))


# ---- perceptrons ----
def perceptron(*sizes):
    layers = []
    for i, o in zip(sizes, sizes[1:]):
        layers += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], 10))

class MixerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.LayerNorm(128), nn.LayerNorm(128)
        self.over_patches = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64))
        self.over_features = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))
    def forward(self, x):
        y = x + self.over_patches(self.a(x).transpose(1, 2)).transpose(1, 2)
        return y + self.over_features(self.b(y))

class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.blocks = nn.Conv2d(3, 128, 4, 4), nn.Sequential(*[MixerBlock() for _ in range(8)])
        self.norm, self.out = nn.LayerNorm(128), nn.Linear(128, 10)
    def forward(self, x):
        return self.out(self.norm(self.blocks(self.patches(x).flatten(2).transpose(1, 2))).mean(1))

class Dlrm(nn.Module):
    def __init__(self):
        super().__init__()
        mlp = lambda *s: [m for i, o in zip(s, s[1:]) for m in (nn.Linear(i, o), nn.ReLU())]
        self.bottom = nn.Sequential(*mlp(13, 512, 256, 16))
        self.top = nn.Sequential(*mlp(16 + 27 * 27, 512, 256), nn.Linear(256, 1))
        self.tables = nn.ModuleList(nn.Embedding(10000, 16) for _ in range(26))
    def forward(self, batch):
        numbers, words = batch
        dense = self.bottom(numbers)
        vectors = torch.stack([dense, *(table(words[:, i]) for i, table in enumerate(self.tables))], 1)
        return self.top(torch.cat([dense, torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)], 1))


NETWORKS = {"resnet18": lambda: resnet(basic, 1, (2, 2, 2, 2)), "resnet50": lambda: resnet(bottleneck, 4, (3, 4, 6, 3)),
            "mobilenet_v2": lambda: inverted(MOBILE, nn.ReLU6, False), "efficientnet_b0": lambda: inverted(EFFICIENT, nn.SiLU, True),
            "densenet": densenet, "unet": unet, "autoencoder": autoencoder,
            "wide_mlp": lambda: perceptron(784, 2048, 2048, 2048), "deep_mlp": lambda: perceptron(784, *[256] * 21),
            "mixer": Mixer, "dlrm": Dlrm}
SIDE = {"unet": 64, "autoencoder": 64}


def make(name):
    torch.manual_seed(0)
    return NETWORKS[name]()

def takes_images(name):
    return not name.endswith("mlp") and name != "dlrm"

def inputs(name, samples):
    if name == "dlrm":
        return tensor(common.images(samples, 13)), tensor(common.ids(samples, 26, 10000)).long()
    if name.endswith("mlp"):
        return tensor(common.images(samples, 784))
    return tensor(common.images(samples, 3, SIDE.get(name, 32), SIDE.get(name, 32)))

def target(name, samples):
    if name == "autoencoder":
        return inputs(name, samples)
    if name == "unet":
        return tensor(common.images(samples, 1, 64, 64, seed=1))
    return tensor(common.labels(samples, 2)).float()[:, None] if name == "dlrm" else tensor(common.labels(samples, 10)).long()

def loss(name):
    kind = {"autoencoder": F.mse_loss, "unet": F.binary_cross_entropy_with_logits, "dlrm": F.binary_cross_entropy_with_logits}
    of = kind.get(name, F.cross_entropy)
    return lambda model, x, y: of(model(x), y)
