"""Which results of the estimators a run was measured with, so that runs of older code are known."""

import re

# Raised in a change of the library after which an estimator finds something else; 1 for all others.
VERSIONS = {
    "OnlineEMLDA": 5,
    "OnlineEMLDA with another prior": 4,
    "OnlineEMLDA with a decay": 3,
    "boosted OnlineEMLDA": 2,
    "OnlineEMHDP": 3,
    "OnlineEMHDP in one pass": 2,
    "HybridHDP": 4,
    "HybridLDA": 2,
    "LangevinLDA": 2,
    "OnlineOPELDA": 2,
    "StreamingGibbsLDA": 2,
}

# The columns that identify a run of a study, by part where parts differ; there the first is "part".
COLUMNS = {
    "classifier": "features seed",
    "coherence_peers": "corpus n_components model seed",
    "corpora_on_disk": {None: "estimator", "sampler": "estimator settings", "evicted": "order"},
    "dask_faults": "trial seed",
    "dask_scaling": {
        "times": "kind repeat",
        "memory": "documents n_components passes",
        "score": "lanes passes seed",
    },
    "defaults": "estimator n_components max_iter parameter value corpus",
    "document_streams": "corpus estimator seed",
    "flagship": {
        "screen": "setting corpus seed",
        "first pass": "setting corpus seed",
        "confirm": "setting corpus n_components seed",
    },
    "g_ope": "corpus seed method batch_size learning_decay curve",
    "gibbs_peers": {None: "model seed", "number": "n_components seed"},
    "hdp_bound": {
        None: "n_components seed",
        **dict.fromkeys(("bars", "ranks", "brief"), "method n_components seed"),
    },
    "hdp_models": "corpus model n_components seed",
    "hdp_topics": {
        None: "corpus n_components seed",
        "chain": "corpus method n_components seed",
        "beside": "corpus start seed n_components",
    },
    "hybrid_hdp": {
        **dict.fromkeys(("batch", "truncation"), "seed corpus method n_components batch_size"),
        "time": "seed corpus method n_components",
        **dict.fromkeys(("starts", "steps"), "n_components"),
    },
    "lanes": "corpus n_lanes kind seed",
    "moment_matching": {
        "text": "corpus seed method n_components settings order",
        "words": "corpus method settings",
        None: "true_topics seed",
    },
    "moment_matching_evidence": "true_topics n_components seed",
    "online_em": "corpus seed method n_components options stream",
    "other_tests": {
        "suite": "release file estimator how",
        "seeds": "release estimator",
        "example": "project file test estimator",
    },
    "passes": {
        "passes": "corpus estimator n_components seed kind",
        "starts": "corpus estimator n_components seed start",
        "root": "corpus estimator kind seed",
    },
    "peers": {"peers": "corpus n_components measure peer", "family": "corpus n_components model"},
    "scale_plan": {
        "token": "corpus n_words n_components",
        "added": "estimator n_components",
        **dict.fromkeys(("merge", "dask"), ""),
    },
    "seeds": {"weights": "weight estimator seed", "tests": "corpus estimator seed"},
    "split_merge_hdp": {
        **dict.fromkeys(("bars", "nips", "long", "arxiv"), "method n_components seed"),
        "bound": "corpus topic_word_prior moves n_components",
        "moves": "n_components max_iter",
        **dict.fromkeys(("steps", "weights"), "corpus n_components"),
    },
    "transform_sweeps": "corpus seed",
    "uncertainty": "words part",
}

# A run uses the estimators that its columns name. By study, what other names stand for, and under None what a
# run uses that names none. OnlineEMLDA is the one that samples; what it finds with boost=True, by
# mean-field inference, with a learning_decay that is a number, or with a doc_topic_prior or prior_update that
# is not the default has versions of its own.
ESTIMATORS = {
    "coherence_peers": {
        "OnlineEMLDA, a fixed prior": ("OnlineEMLDA with another prior",),
        "OnlineEMLDA, a fixed prior, all sweeps from it": ("OnlineEMLDA with another prior",),
        "OnlineEMLDA, a fixed prior, topic_word_prior=0.01": ("OnlineEMLDA with another prior",),
        "CollapsedGibbsLDA, then 10 passes of EM": ("CollapsedGibbsLDA", "OnlineEMLDA with another prior"),
        "CollapsedGibbsLDA, then 30 passes of EM": ("CollapsedGibbsLDA", "OnlineEMLDA with another prior"),
    },
    "corpora_on_disk": {None: ("OnlineEMLDA",)},
    "dask_faults": {None: ("OnlineEMLDA",)},
    "dask_scaling": {None: ("OnlineEMLDA",)},
    "flagship": {
        **dict.fromkeys(("default", "for one pass"), ("OnlineEMLDA",)),
        "decay 0.65, a fixed prior": ("OnlineEMLDA with a decay",),
        None: ("OnlineEMLDA with another prior",),
    },
    "g_ope": {
        "Online-VB": ("OnlineVariationalLDA",),
        "Online-CVB0": ("OnlineCVB0LDA",),
        "Online-CGS": ("HybridLDA",),
        "G-OEM": ("OnlineEMLDA with a decay",),
        None: ("OnlineOPELDA",),
    },
    "hdp_bound": {None: ("DirectAssignmentHDP",)},
    "hdp_topics": {None: ("HybridHDP",)},
    "hybrid_hdp": {
        "table indicators": ("CollapsedGibbsHDP",),
        "sparse table indicators": ("CollapsedGibbsHDP",),
        "direct assignment": ("CollapsedGibbsHDP",),
        "steps": ("HybridHDP",),
    },
    "lanes": {None: ("OnlineEMLDA",)},
    "moment_matching": {
        "OnlineEM": ("OnlineEMLDA",),
        "basic": ("MomentMatchingLDA",),
        "DDM": ("DegenerateDirichletLDA",),
        "TDM": ("TriangularDirichletLDA",),
        "HDP": (),
        None: ("DegenerateDirichletLDA", "TriangularDirichletLDA"),
    },
    "online_em": {
        "G-OEM": ("OnlineEMLDA with a decay",),
        "G-OEM++": ("boosted OnlineEMLDA",),
        "V-OEM": ("variational OnlineEMLDA",),
        "V-OEM++": ("variational OnlineEMLDA",),
        "OLDA": ("OnlineVariationalLDA",),
        "SVB": ("StreamingVariationalLDA",),
        "SPLDA": ("SinglePassLDA",),
        # These have the prior that OnlineEMLDA learned, which is in their rows.
        "VarGibbs": ("HybridLDA",),
        "SGS": ("StreamingGibbsLDA",),
        "LDS": ("LangevinLDA",),
        "G-OEM HDP": ("OnlineEMHDP in one pass",),
        "VarGibbs HDP": ("TruncationFreeHDP",),
    },
    "peers": {
        "tokens per second": ("CollapsedGibbsLDA",),
        "seconds of one pass, 10000 documents, 20 iterations": ("OnlineVariationalLDA",),
        "gensim LdaModel": (),
        "scikit-learn": (),
        "tomotopy LDAModel": (),
        None: ("OnlineEMLDA",),
    },
    "scale_plan": {"token": ("OnlineEMLDA",)},
    "split_merge_hdp": {
        "oHDP-CRF": ("OnlineVariationalHDP",),
        "CGS": ("CollapsedGibbsHDP",),
        None: ("DirectAssignmentHDP",),
    },
    "transform_sweeps": {None: ("OnlineEMLDA",)},
    "uncertainty": {None: ("OnlineEMLDA with another prior",)},
}
CLASS = re.compile(r"[A-Z]\w+(LDA|HDP)")


def columns_of(study, part):
    """The names of the columns of a run."""
    columns = COLUMNS[study]
    if isinstance(columns, str):
        return columns.split()
    return ["part", *(columns[part] if part in columns else columns[None]).split()]


def columns_of_run(study, run):
    """Column -> value of a run."""
    return dict(zip(columns_of(study, run[0]), run, strict=True))


def run_of(study, row):
    """The run of a row."""
    return frozen(tuple(row[name] for name in columns_of(study, row.get("part"))))


def frozen(value):
    """A value that can be a key: tuples in place of lists, and sorted pairs in place of a dict."""
    if isinstance(value, dict):
        return tuple(sorted((name, frozen(each)) for name, each in value.items()))
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


def estimators_of(study, run):
    """The estimators that a run uses, by what its columns name."""
    names, found = ESTIMATORS.get(study, {}), set()
    for text in strings_of(frozen(run)):
        name = text if text in names else text.partition(",")[0]
        if name in names or CLASS.fullmatch(name):
            found.add(names.get(name, (name,)))
    return {name for each in found or {names.get(None, ())} for name in each}


def strings_of(value):
    if isinstance(value, tuple):
        return [string for part in value for string in strings_of(part)]
    return [value] if isinstance(value, str) else []


def version_of(study, run):
    """Of what a run finds: it rises with the version of each estimator that the run uses."""
    return 1 + sum(VERSIONS.get(name, 1) - 1 for name in estimators_of(study, run))
