"""Descriptions of the parameters that many estimators have, written once."""

PARAMETERS = """
n_components : int, default=10
    Number of topics, K in the literature.
doc_topic_prior : None, float, array-like of shape (n_components,), 'auto' or 'auto-symmetric', default=None
    Dirichlet parameters of the topic proportions, > 0, alpha in the literature. None is
    ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100, 0.02 for 1000). With 'auto' they are
    learned, one a topic; with 'auto-symmetric', one for all topics. Mini-batch methods start from
    the default, which counts like ten batches, and the first update does not learn.
fixed_doc_topic_prior : None, float or array-like of shape (n_components,), default=None
    Dirichlet parameters of the topic proportions, > 0, alpha in the literature. None is
    ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100, 0.02 for 1000).
topic_word_prior : float or None, default=None
    Pseudo-count of every word in every topic, >= 0, added when topics are read; it gives words that
    training has not seen a probability above zero. None is ``min(0.1, 2 / n_components)``.
filter_topic_word_prior : float or None, default=None
    Parameter of the topics' symmetric Dirichlet prior, > 0, beta in the literature. None is
    ``n_features ** -0.5``.
n_components_limit : int, default=100
    Largest number of topics, K in the literature. The default of doc_topic_prior depends on it.
n_components_prior : 'uniform', 'exponential' or array-like of shape (n_components,), default='uniform'
    Probabilities of 1 to n_components topics before any data, up to a common factor; 'exponential' is
    exp(-T) for T topics. A number of topics with probability zero is out of the question for ever.
filter_doc_topic_prior : None, float, array-like, 'auto' or 'auto-symmetric', default=None
    Dirichlet parameters of the topic proportions, > 0, alpha in the literature. None is
    ``n_components ** -0.55`` (0.19 for 20 topics, 0.08 for 100). With 'auto' they are learned, one a
    topic, by matching the moments of the proportions of every 64 documents (fewer teach nothing); with
    'auto-symmetric', one for all topics.
second_moment : {'first', 'sum'}, default='sum'
    Which second moment of a Dirichlet distribution is matched after each token. 'first': that of the
    first topic or word, as published; the result then depends on the order of the columns. 'sum': the
    sum over all of them.
token_shuffle : {'corpus', 'document'} or None, default='document'
    Order of the tokens. 'corpus': those of all documents of a call mixed, which keeps the proportions of
    all of them in memory. 'document': documents as they come, the tokens of each mixed. None: each
    document word by word.
learning_decay : float, default=0.65
    Exponent kappa of the step size (learning_offset + t) ** -learning_decay of update t = 1, 2, ...;
    in [0, 1]. Values in (0.5, 1] make training converge.
learning_offset : float, default=1.0
    Offset of the step size, >= 0; larger values slow the first updates down.
max_iter : int, default=5
    Passes over the corpus in `fit`.
batch_size : int, default=50
    Documents per update. Larger batches make slower progress per pass and share better among n_jobs.
total_samples : float or None, default=None
    Size of the corpus, which weighs the data against topic_word_prior. None: the number of documents
    given to `fit`, and to `partial_fit` since.
shuffle : bool, default=True
    Whether `fit` visits the documents in a new random order in each pass; `partial_fit` never does.
doc_burn_in : int, default=4
    Gibbs sweeps over a document in training that are thrown away, >= 0.
doc_sweeps : int, default=3
    Gibbs sweeps over a document in training that are used, >= 1.
transform_burn_in : int, default=4
    Gibbs sweeps over a document in `transform` and `score` that are thrown away, >= 0.
transform_sweeps : int, default=6
    Gibbs sweeps over a document in `transform` and `score` that are used, >= 1.
max_doc_update_iter : int, default=100
    Limit of the iterations over a document.
mean_change_tol : float, default=1e-3
    The iterations over a document stop when the mean absolute change of its Dirichlet parameters falls
    below it.
early_stopping : bool, default=False
    Whether `fit` holds documents out, scores them after each pass, and stops when the score no
    longer rises.
validation_fraction : float, default=0.1
    Share of the documents held out for early stopping, in (0, 1).
n_iter_no_change : int, default=2
    Passes without improvement before early stopping.
tol : float, default=1e-3
    Nats per word that count as an improvement.
n_jobs : int or None, default=None
    Threads (or workers of the backend chosen with ``joblib.parallel_config``). The results are the
    same for any number.
random_state : int, RandomState instance or None, default=None
    Seed of the initial topics, of sampling and of shuffling.
verbose : int, default=0
    If positive, `fit` prints its progress every few seconds and after each pass.
components_ : ndarray of shape (n_components_, n_features_in_)
    Probability of each word in each topic; rows sum to one. Computed at the first access after
    training, and read-only.
topic_word_counts_ : ndarray of shape (n_components_, n_features_in_)
    Expected number of tokens of each word in each topic over the whole corpus, without the
    pseudo-count.
topic_word_posterior_ : ndarray of shape (n_components_, n_features_in_)
    Parameters of the topics' Dirichlet posteriors, lambda in the literature:
    ``topic_word_counts_ + topic_word_prior_``. components_ is their mean.
filter_posterior_ : ndarray of shape (n_components_, n_features_in_)
    Parameters of the topics' Dirichlet posteriors, beta in the literature. components_ is their mean.
number_in_use_ : int
    Most probable number of topics; the first so many are in use.
n_components_posterior_ : ndarray of shape (n_components,)
    Probabilities of 1 to n_components topics.
trace_n_tokens_ : ndarray of shape (n_notes,)
    Numbers of tokens after which the most probable number of topics was noted: one after the other at
    first, then about 44 times while they double.
trace_n_components_ : ndarray of shape (n_notes,)
    Most probable number of topics at these times.
n_tokens_seen_ : float
    Tokens (total count) treated.
log_evidence_ : float
    Sum over all tokens of the log probability, in nats, of each given those before: the filter's
    estimate of the logarithm of the evidence.
doc_topic_prior_ : ndarray of shape (n_components_,)
    Dirichlet parameters of a document's topic proportions.
topic_word_prior_ : float
    Pseudo-count in use.
filter_topic_word_prior_ : float
    Parameter of the topics' prior.
n_components_prior_ : ndarray of shape (n_components,)
    Probabilities of 1 to n_components topics before any data.
filter_n_jobs : int or None, default=None
    Threads (or workers of the backend chosen with ``joblib.parallel_config``) of `transform` and `score`;
    training goes token by token, in one. The results are the same for any number.
filter_random_state : int, RandomState instance or None, default=None
    Seed of the shuffles, and of the initial topics where these are not all alike.
filter_verbose : int, default=0
    If positive, `fit` prints its progress every few seconds and at its end.
n_components_ : int
    Number of topics.
n_features_in_ : int
    Number of words.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns, where X had any.
n_iter_ : int
    Passes made by `fit`.
n_batch_iter_ : int
    Updates made.
n_samples_seen_ : int
    Documents treated, counting each as often as it was.
total_samples_ : float
    Size of the corpus at the last update.
validation_scores_ : ndarray of shape (n_iter_,)
    Held-out score after each pass, with early stopping.
"""

# Several of them in the order of most signatures, under a name of their own.
GROUPS = {
    "loop": "early_stopping validation_fraction n_iter_no_change tol n_jobs random_state verbose",
    "gibbs": "doc_burn_in doc_sweeps transform_burn_in transform_sweeps",
    "variational": "max_doc_update_iter mean_change_tol",
    "filter": "filter_doc_topic_prior filter_topic_word_prior second_moment token_shuffle",
    "job": "filter_n_jobs filter_random_state filter_verbose",
    "filtered": "components_ filter_posterior_ doc_topic_prior_ filter_topic_word_prior_",
    "counted": "log_evidence_ n_tokens_seen_ n_samples_seen_ n_features_in_ feature_names_in_",
    "number": "number_in_use_ n_components_posterior_ n_components_prior_ trace_n_components_ "
    "trace_n_tokens_",
    "fitted": "components_ topic_word_counts_ doc_topic_prior_ topic_word_prior_ n_components_ "
    "n_features_in_ feature_names_in_ n_iter_ n_batch_iter_ n_samples_seen_",
}


# Other descriptions of a parameter, by the name that they have above.
ALIASES = {
    "fixed_doc_topic_prior": "doc_topic_prior",
    "filter_topic_word_prior": "topic_word_prior",
    "filter_doc_topic_prior": "doc_topic_prior",
    "n_components_limit": "n_components",
    "token_shuffle": "shuffle",
    "filter_posterior_": "topic_word_posterior_",
    "number_in_use_": "n_components_",
    "filter_topic_word_prior_": "topic_word_prior_",
    "filter_n_jobs": "n_jobs",
    "filter_random_state": "random_state",
    "filter_verbose": "verbose",
}


def _entries():
    """The lines that describe each parameter."""
    entries, name = {}, None
    for line in PARAMETERS.strip().splitlines():
        if not line.startswith(" "):
            name = line.partition(" ")[0]
            entries[name] = []
        entries[name].append(line)
    return entries


_ENTRIES = _entries()


def describe_parameters(cls):
    """Class decorator: a line "@name" in the docstring becomes the description of that parameter or group.

    "@name=value" states another default.
    """
    if cls.__doc__:
        lines = []
        for line in cls.__doc__.splitlines():
            if line.strip().startswith("@"):
                indent = line[: line.index("@")]  # later versions of Python strip that of the docstring
                lines.extend(indent + entry for entry in _expanded(line.strip()[1:]))
            else:
                lines.append(line)
        cls.__doc__ = "\n".join(lines)
    return cls


def _expanded(text):
    name, _, default = text.partition("=")
    if name in GROUPS:
        return [line for member in GROUPS[name].split() for line in _expanded(member)]
    first, *rest = _ENTRIES[name]
    if name in ALIASES:
        first = ALIASES[name] + first.removeprefix(name)
    if default:
        first = first.partition("default=")[0] + f"default={default}"
    return [first, *rest]
