"""Checks of scikit-learn that the estimator fails on purpose, each with its reason."""

EXPECTED_FAILURES = {
    "check_estimator_sparse_tag": (
        "fits a sparse matrix of fractions; a sparse matrix holds counts, and fractions in one "
        "(TF-IDF, say) are an error that says so, while sparse matrices of counts are taken"
    ),
    "check_dtype_object": (
        "requires TypeError for an object that is no number; bad input is an InputError here, "
        "which is a ValueError, whatever is bad about it"
    ),
    "check_parameters_default_constructible": (
        "allows only plain types as defaults of parameters; the prior of a concentration is a "
        "Gamma, a frozen dataclass"
    ),
    "check_clustering": (
        "requires three blobs found as clusters from one vector per group; with a single token in "
        "each group nothing tells a cluster of several topics from several clusters, and the "
        "default v prefers the former (it passes with a small v, one topic to a cluster)"
    ),
}
