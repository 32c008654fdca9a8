"""Why tests of other libraries fail with our estimators in their place, or say nothing about them.

By file, then by test, as patterns of fnmatch; "@Name" behind a pattern limits it to that estimator.
"""

BY_LUCK = (
    "Three topics have to come out of nine documents; which seeds reach that is luck. Over {seeds} seeds "
    "{theirs} pass with scikit-learn's class, {ours} with this one."
)
IT_IS_ANY_CLASS = "about scikit-learn's modules, not about an estimator"
OLD_FILES = "reads models that older versions of gensim have saved"
ACCUMULATOR = "about the cache of counts inside CoherenceModel; here it is a function"
OTHER_CLASS = "about a function of gensim that is not replaced"
ITS_FUNCTIONS = "about its reader and its lists of tokens; no model is used"

NOT_APPLICABLE = {
    "test_online_lda": {
        "test_lda_preplexity_mismatch": "calls the private `_perplexity_precomp_distr`",
        "test_dirichlet_expectation": "calls a private kernel",
    },
    "test_common": {
        "test_all_estimator_no_base_class": IT_IS_ANY_CLASS,
        "test_get_check_estimator_ids": IT_IS_ANY_CLASS,
        "test_import_all_consistency": IT_IS_ANY_CLASS,
        "test_root_import_all_completeness": IT_IS_ANY_CLASS,
        "test_all_tests_are_importable": IT_IS_ANY_CLASS,
        "test_class_support_removed": IT_IS_ANY_CLASS,
        "test_check_inplace_ensure_writeable": "of estimators with a parameter `copy`; none here has one",
    },
    "test_coherencemodel": {
        "*Accumulator*": ACCUMULATOR,
        "*testPersistence*": "saves a CoherenceModel; here it is a function, with nothing to save",
        "*testProcesses": "about the parameter `processes`; here there is one thread",
        "*testCw2vLdaModel": "makes an object and computes nothing; there is no such measure here",
        "*testU*LdaModel": "makes an object and computes nothing",
        "*testC*LdaModel": "makes an object and computes nothing",
        "*testErrors": "arguments that its constructor wants; here a function wants others",
        "*testCompareCoherenceFor*": "about the cache of counts; the values are those of the other tests",
    },
    "test_ldamodel": {
        "test_random_state": OTHER_CLASS,
        "*test_passes": "computes the step size from gensim's counters; here it follows updates",
        "*backward_compatibility": OLD_FILES,
        "*test_model_compatibility_with_python_versions": OLD_FILES,
        "*test_persistence_ignore": "about leaving attributes out of a pickle; files here are no pickles",
        "*test_large_mmap_compressed": "wants an error for a compressed file; none here is compressed",
        "TestLdaMulticore::test_alpha_auto": "wants an error: it cannot learn alpha; here threads can",
    },
    "test_hdpmodel": {
        "*test_topic_values": "wants the numbers that gensim's random generator leads to",
        "*test_ldamodel": "about `suggested_lda_model`; `transform` and `score` here take the HDP itself",
    },
    "test_lda_reuters": {
        "*test_lda_random_seed": "reads the private `_rands`",
    },
    "test_datasets": {"*": ITS_FUNCTIONS},
    "test_utils": {"*": ITS_FUNCTIONS},
}

DIFFERS = {
    "test_online_lda": {
        "test_lda_fit_online@OnlineVariationalLDA": BY_LUCK,
        "test_lda_partial_fit": BY_LUCK,
        "test_lda_multi_jobs@OnlineVariationalLDA": "As test_lda_fit_online, with two threads.",
        "test_lda_partial_fit_multi_jobs": "As test_lda_partial_fit, with two threads.",
        "test_lda_fit_perplexity": "There is no `bound_`: `elbo` computes it when it is called.",
        "test_lda_empty_docs": "From documents without words nothing is learned here: topics stay at "
        "their random start, which scikit-learn forgets.",
        "test_verbosity": "Progress is a bar on stderr, not a line a pass on stdout.",
        "test_lda_dtype_match": "Topics are float64 here whatever X is; `transform` keeps float32. There is "
        "no `exp_dirichlet_component_`.",
        "test_lda_numerical_consistency@OnlineVariationalLDA": "Topics agree to 2e-7, the rounding of X to "
        "float32; the test allows 1e-7 for topics in float64 and 1e-4 for those in float32.",
    },
    "test_common": {
        "test_estimators": "Of all checks those of weights fail where batches hold ten documents: copies of "
        "a document fill batches otherwise than its weight does.",
        "test_check_param_validation": "The private table of constraints, which families share, has "
        "parameters that an estimator lacks; bad values are errors.",
    },
    "test_ldamodel": {
        "*test_large_mmap": "Wants a memory map in a derived array; here the statistics are mapped.",
    },
    "test_lda": {
        "*test_lda_params": "Parameters are checked by `fit`, not when an estimator is made.",
    },
    "test_lda_reuters": {
        "*test_lda_attributes": "Topics of training documents are not kept, so that there is no "
        "`ndz_`; `transform` infers them like any other.",
        "*test_lda_zero_iter": "`max_iter=0` is an error: a model that has learned nothing has no topics.",
    },
    "test_lda_sparse": {
        "*test_lda_sparse": "As test_lda_attributes.",
        "*test_lda_sparse_error_float": "Counts may be floats here; fractions are weights.",
    },
}

# Of tests that pass once results are mapped, what was
MAPPED = {
    "test_online_lda": {
        "test_lda_transform": "`transform(normalize=False)` has no counterpart and is taken for `transform`.",
        "test_lda_*perplexity@OnlineVariationalLDA": "`score` is `elbo`, `perplexity` exp of minus that "
        "per word; `sub_sampling` is left out.",
        "test_lda_*perplexity@OnlineEMLDA": "`score` is taken times the number of words; "
        "`sub_sampling` is left out.",
    },
    "test_ldamodel": {
        "*test_alpha": "Wrong shapes are a ValueError here, AssertionError there.",
        "*test_eta": "Wrong shapes are a ValueError here, AssertionError there; a vector becomes a matrix.",
        "*test_persistence_compressed": "The file is not compressed, whatever its name.",
    },
}
