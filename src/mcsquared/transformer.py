"""Base class of estimators whose `transform` returns the topic shares of groups."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mcsquared.arrays import Floats, Objects


class TopicTransformer(TransformerMixin, BaseEstimator):
    """Estimator with topics: `fit_transform`, and the names of topics and features."""

    n_topics_: int

    def fit_transform(self, X: Any, y: Any = None, *, contexts: Any = None) -> Floats:
        """Fit the model and return the topic shares of the groups it was fitted to.

        Examples
        --------
        >>> model.fit_transform(corpus).shape == (40, model.n_topics_)
        True
        """
        return self.fit(X, y, contexts=contexts).transform(X, contexts=contexts)

    def get_feature_names_out(self, input_features: Any = None) -> Objects:
        """Return the names of the columns of `transform`: topic0, topic1, ...

        Examples
        --------
        >>> len(model.get_feature_names_out()) == model.n_topics_
        True
        """
        check_is_fitted(self)
        return np.array([f"topic{m}" for m in range(self.n_topics_)], dtype=object)

    def _set_features(self, n_features: int, vocabulary: Objects | None) -> None:
        self.n_features_in_ = n_features
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if vocabulary is not None:
            self.feature_names_in_ = np.asarray(vocabulary, dtype=object)
