"""Columns of categories: found, turned into numbers that are names, and remembered for the next table."""

from typing import Any

import narwhals as nw
import numpy as np

from quorate.estimators.base import Estimator

TEXT = (nw.Categorical, nw.Enum, nw.String)


class TakesCategories(Estimator):
    """For estimators with `categorical_features`: a table's categories become their places in an ordered list.

    None has none. "from_dtype" takes the columns of a data frame that hold text or categories. Otherwise the columns
    are named, numbered or marked, and may hold numbers as well. A category that fit has not seen is missing.
    """

    categorical_features: Any

    def _checked(self, X, reset=False):
        if reset:
            self._levels = {}
        if self.categorical_features is not None and nw.dependencies.is_into_dataframe(X):
            frame = nw.from_native(X, eager_only=True)
            X = self._without_text(frame, reset).to_native() if _named(frame) else X
        return super()._checked(X, reset)

    def _without_text(self, frame, reset):
        """The frame with places in place of text."""
        if reset:
            chosen = self._chosen(frame)
            self._levels = {name: _levels(frame[name]) for name in chosen if frame[name].dtype in TEXT}
        there = [name for name in self._levels if name in frame.columns]
        places = [_places(frame[name], self._levels[name], frame) for name in there]
        return frame.with_columns(*places) if places else frame

    def _chosen(self, frame):
        """The names of the columns of categories."""
        given, names = self.categorical_features, frame.columns
        if isinstance(given, str):
            return [name for name in names if frame[name].dtype in TEXT]
        return [names[j] for j in self._given(len(names), names)]

    def _numbers_of(self, d):
        """The numbers of the columns of categories, of d."""
        if self.categorical_features is None:
            return ()
        names = list(getattr(self, "feature_names_in_", ()))
        if isinstance(self.categorical_features, str):
            return tuple(names.index(name) for name in self._levels)
        return self._given(d, names)

    def _given(self, d, names):
        given = np.asarray(self.categorical_features)
        if given.ndim != 1:
            raise ValueError(
                f"categorical_features must be a list of columns, got an array of shape {given.shape}"
            )
        if given.dtype.kind == "b":
            if len(given) != d:
                raise ValueError(f"categorical_features marks {len(given)} columns, and X has {d}")
            return tuple(int(j) for j in np.flatnonzero(given))
        unknown = [v for v in given.tolist() if (v not in names if isinstance(v, str) else not 0 <= v < d)]
        if unknown:
            raise ValueError(f"categorical_features has {unknown[0]!r}, and X has no such column")
        return tuple(sorted({names.index(v) if isinstance(v, str) else int(v) for v in given.tolist()}))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self.categorical_features is not None
        return tags


def _named(frame):
    """Whether the columns have names; those with text need one."""
    named = all(isinstance(name, str) for name in frame.columns)
    if not named and any(dtype in TEXT for dtype in frame.schema.values()):
        raise ValueError(
            "columns of categories are remembered by their names, and some of X's are no strings; "
            "set X.columns = X.columns.astype(str)"
        )
    return named


def _levels(series):
    """The distinct texts of a column, in order."""
    known = _by_code(series)
    if known is None:
        values = series.cast(nw.String).drop_nulls().unique().to_list()
    else:
        texts, codes = known
        values = [texts[i] for i in np.flatnonzero(np.bincount(codes + 1, minlength=len(texts) + 1)[1:])]
    return np.array(sorted(set(values)), dtype=object)


def _places(series, levels, frame):
    """The place of each text among the levels, as a column; what is not among them is missing."""
    place, known = {level: float(i) for i, level in enumerate(levels)}, _by_code(series)
    if known is None:
        values = [place.get(v, np.nan) for v in series.cast(nw.String).to_list()]
    else:
        texts, codes = known
        values = np.array([place.get(text, np.nan) for text in texts] + [np.nan])[codes]  # −1 is the last
    return nw.new_series(series.name, values, nw.Float64, backend=frame.implementation)


def _by_code(series):
    """(the texts of the categories, the number of each row's, −1 where it is missing) of pandas; else None."""
    codes = getattr(getattr(series.to_native(), "cat", None), "codes", None)
    if codes is None:
        return None
    texts = nw.from_native(series.to_native().cat.categories.to_series(), series_only=True).cast(nw.String)
    return texts.to_list(), codes.to_numpy().astype(np.intp)
