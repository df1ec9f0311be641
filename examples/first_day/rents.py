#!/usr/bin/env python3
"""Writes rents.csv (made up, always the same), and prints what scikit-learn makes of it: the figures that table.cpp compares with.
Usage: rents.py (needs numpy, pandas, scikit-learn)."""
import csv
import pathlib

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

PATH = pathlib.Path(__file__).resolve().parent / "rents.csv"
HELD_OUT = 250  # the last rows
random = np.random.default_rng(3)
towns = {"Köln": (9.5, [50667, 50674, 51065]), "Münster": (8.5, [48143, 48149]), "Frankfurt, Main": (12.0, [60311, 60486]), "Görlitz": (5.5, [2826])}


def number(value, digits):  # as it is written in Germany
    return f"{value:.{digits}f}".replace(".", ",")


rows = []
for i in range(1000):
    town = random.choice(list(towns), p=[0.4, 0.25, 0.25, 0.1])
    level, codes = towns[town]
    code = random.choice(codes)
    area, year = random.uniform(22, 140), int(random.integers(1900, 2024))
    rent = area * level * (1 + 0.25 * np.exp(-((area - 22) / 30))) * (1 + 0.3 * max(0, year - 1990) / 33) * (1 + 0.05 * codes.index(code))
    balcony = random.choice(["yes", "no"])
    rent += 35 * (balcony == "yes") + random.normal(0, 25)
    rows.append([f"R{i:04}", f"{code:05}", town, number(area, 1) if random.uniform() > 0.04 else random.choice(["n.a.", "-"]),
                 str(year) if random.uniform() > 0.08 else "", balcony, number(rent, 2)])
with open(PATH, "w", encoding="latin1", newline="") as file:
    writer = csv.writer(file, delimiter=";", lineterminator="\n")
    writer.writerow(["id", "post code", "town", "area", "built", "balcony", "rent"])
    writer.writerows(rows)

table = pd.read_csv(PATH, sep=";", decimal=",", encoding="latin1", na_values=["n.a.", "-"], dtype={"post code": str})
x, y = table.drop(columns=["id", "rent"]), table["rent"]
train, test = slice(None, -HELD_OUT), slice(-HELD_OUT, None)


def prepared():
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return ColumnTransformer([("numbers", numbers, ["area", "built"]), ("categories", OneHotEncoder(handle_unknown="ignore"), ["post code", "town", "balcony"])])


deviation = y[train].std(ddof=0)
for name, model in (("LinearRegression", LinearRegression()), ("MLPRegressor", MLPRegressor(hidden_layer_sizes=(32, 32), learning_rate_init=1e-2, max_iter=100, random_state=1))):
    fitted = make_pipeline(prepared(), model).fit(x[train], y[train] / deviation)
    p = fitted.predict(x[test]) * deviation
    print(f"{name}: R2 {r2_score(y[test], p):.4f}, mean absolute error {mean_absolute_error(y[test], p):.2f}")
