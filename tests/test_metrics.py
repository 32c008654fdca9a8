"""Properties of the measures of held-out likelihood."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, logsumexp
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sktopic._inference._completion import HIDING_KEY, hide
from sktopic._kernels.random._rng import combine_keys
from sktopic.datasets import make_bars, make_lda_documents
from sktopic.lda import OnlineEMLDA
from sktopic.metrics import coherence, document_completion, left_to_right, perplexity, relative_score

METRICS = [document_completion, left_to_right, perplexity, relative_score]
every_metric = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)

CORPUS = make_lda_documents(120, n_features=40, n_components=4, mean_length=25, random_state=0)
HELD_OUT = make_lda_documents(60, components=CORPUS.components, mean_length=25, random_state=1)
X = HELD_OUT.data
TRUTH = {"doc_topic_prior": CORPUS.doc_topic_prior}


@pytest.fixture(scope="module")
def model():
    return OnlineEMLDA(4, doc_topic_prior=0.1, max_iter=5, batch_size=20, random_state=0).fit(CORPUS.data)


# What is accepted


@every_metric
def test_fitted_estimator_and_its_arrays_give_the_same(metric, model):
    arrays = metric(model.components_, X, doc_topic_prior=model.doc_topic_prior_)
    assert metric(model, X) == pytest.approx(arrays, rel=1e-6)


@every_metric
def test_prior_can_be_given_in_place_of_the_model_s(metric, model):
    given = metric(model, X, doc_topic_prior=[0.4, 0.3, 0.2, 0.1])
    assert given == pytest.approx(
        metric(model.components_, X, doc_topic_prior=[0.4, 0.3, 0.2, 0.1]), rel=1e-6
    )
    assert given != metric(model, X)
    assert metric(model, X, doc_topic_prior=0.3) == metric(model, X, doc_topic_prior=np.full(4, 0.3))


@every_metric
def test_components_are_normalized(metric):
    weights = np.array([[0.5], [3.0], [100.0], [1e-3]])
    expected = metric(CORPUS.components, X, **TRUTH)
    assert metric(CORPUS.components * weights, X, **TRUTH) == pytest.approx(expected, rel=1e-6)


@every_metric
def test_lists_are_accepted(metric):
    answer = metric(CORPUS.components.tolist(), X[:5].toarray().tolist(), doc_topic_prior=[0.1] * 4)
    assert answer == metric(CORPUS.components, X[:5], **TRUTH)


@every_metric
def test_latent_dirichlet_allocation_of_scikit_learn_is_accepted(metric):
    """Its components_ are pseudo-counts, and its prior a number."""
    theirs = LatentDirichletAllocation(4, max_iter=3, random_state=0).fit(CORPUS.data)
    components = theirs.components_ / theirs.components_.sum(axis=1, keepdims=True)
    expected = metric(components, X, doc_topic_prior=theirs.doc_topic_prior_)
    assert metric(theirs, X) == pytest.approx(expected, rel=1e-12)


@every_metric
def test_inputs_are_not_changed(metric):
    components, counts, prior = CORPUS.components * 7.0, X.toarray() * 1.0, np.full(4, 0.1)
    before = components.copy(), counts.copy(), prior.copy()
    metric(components, counts, doc_topic_prior=prior)
    for array, original in zip((components, counts, prior), before):
        assert_array_equal(array, original)


@every_metric
def test_result_is_a_float(metric):
    assert type(metric(CORPUS.components, X, **TRUTH)) is float


# Invariances


@every_metric
def test_invariant_to_row_order(metric):
    order = np.random.RandomState(0).permutation(60)
    assert metric(CORPUS.components, X[order], **TRUTH) == metric(CORPUS.components, X, **TRUTH)


@pytest.mark.parametrize("n_jobs", [2, 3])
@every_metric
def test_invariant_to_n_jobs(metric, n_jobs):
    assert metric(CORPUS.components, X, n_jobs=n_jobs, **TRUTH) == metric(CORPUS.components, X, **TRUTH)


@pytest.mark.parametrize(
    "container",
    [sp.csr_array, sp.csc_matrix, sp.coo_array, lambda X: X.toarray(), lambda X: X.astype(np.float32)],
    ids=["csr_array", "csc_matrix", "coo_array", "ndarray", "float32"],
)
@every_metric
def test_invariant_to_the_container(metric, container):
    assert metric(CORPUS.components, container(X), **TRUTH) == metric(CORPUS.components, X, **TRUTH)


@every_metric
def test_invariant_to_documents_without_words(metric):
    padded = sp.vstack([X, sp.csr_matrix((5, 40))])
    options = {**TRUTH, "per": "word"} if metric is relative_score else TRUTH
    assert metric(CORPUS.components, padded, **options) == metric(CORPUS.components, X, **options)


@every_metric
def test_same_answer_twice(metric):
    assert metric(CORPUS.components, X, **TRUTH) == metric(CORPUS.components, X, **TRUTH)


def test_likelihood_of_a_document_does_not_depend_on_the_others():
    each = left_to_right(CORPUS.components, X, per_document=True, **TRUTH)
    assert each.shape == (60,)
    alone = [left_to_right(CORPUS.components, X[[i]], per_document=True, **TRUTH)[0] for i in range(60)]
    assert_array_equal(each, alone)
    assert left_to_right(CORPUS.components, X, **TRUTH) == pytest.approx(each.sum() / X.sum(), rel=1e-12)


@every_metric
def test_many_documents_are_treated_in_groups_without_a_trace(metric):
    """1100 documents: the mean over copies of the same ones stays the same."""
    copies = sp.vstack([X[:11]] * 100)
    expected = metric(CORPUS.components, X[:11], **TRUTH)
    assert metric(CORPUS.components, copies, **TRUTH) == pytest.approx(expected, rel=1e-12)


@every_metric
def test_order_of_topics_does_not_matter_but_for_noise(metric):
    value = metric(CORPUS.components, X, **TRUTH)
    assert metric(CORPUS.components[::-1], X, **TRUTH) == pytest.approx(value, rel=0.02)


# Values


def test_perplexity_is_the_exponential_of_completion(model):
    assert perplexity(model, X) == pytest.approx(np.exp(-document_completion(model, X)), rel=1e-15)
    options = {"hidden_fraction": 0.5, "n_repeats": 2, "sweeps": 10, "burn_in": 5}
    expected = np.exp(-document_completion(model, X, **options))
    assert perplexity(model, X, **options) == pytest.approx(expected, rel=1e-15)


def unigram_log_likelihood(documents, hidden_fraction, key):
    """The sum over the hidden words of each document, written out, and their number."""
    hidden = hide(documents, hidden_fraction, key)[1].toarray()
    share = documents.sum(axis=0) / documents.sum()
    terms = [sum(n * np.log(share[word]) for word, n in enumerate(row) if n > 0) for row in hidden]
    return np.array(terms), hidden.sum(axis=1)


@pytest.mark.parametrize("counts", [X, 0.7 * X], ids=["counts", "real numbers"])
def test_relative_score_is_completion_less_that_of_the_unigram_model(model, counts):
    counts, options = sp.csr_array(counts), {"hidden_fraction": 0.4, "burn_in": 5, "sweeps": 10}
    completion = document_completion(model, counts, **options)
    unigram, n_words = unigram_log_likelihood(counts, 0.4, HIDING_KEY)
    gain = completion - unigram.sum() / n_words.sum()
    assert relative_score(model, counts, per="word", **options) == pytest.approx(gain, rel=1e-12)
    of_each = [  # the unigram model is that of all documents
        document_completion(model, counts[[row]], **options) - unigram[row] / n_words[row]
        for row in range(counts.shape[0])
    ]
    per_document = np.mean(of_each * counts.sum(axis=1))
    assert relative_score(model, counts, **options) == pytest.approx(per_document, rel=1e-10)
    # Documents without words are documents, too.
    padded = sp.vstack([counts, sp.csr_array(counts.shape)])
    assert relative_score(model, padded, **options) == pytest.approx(per_document / 2, rel=1e-12)


def test_relative_score_averages_over_choices_of_hidden_words(model):
    values = []
    for repeat in range(3):
        key = HIDING_KEY if repeat == 0 else combine_keys(HIDING_KEY, repeat)
        values.append(unigram_log_likelihood(sp.csr_array(X), 0.2, key))
    expected = document_completion(model, X, n_repeats=3) - np.mean(
        [value.sum() / n.sum() for value, n in values]
    )
    assert relative_score(model, X, n_repeats=3, per="word") == pytest.approx(expected, rel=1e-12)


def test_relative_score_of_the_unigram_model_is_zero():
    """Whatever the prior, one topic or several that are alike."""
    share = np.asarray(X.sum(axis=0)).ravel() / X.sum()
    for n_components in (1, 3):
        value = relative_score(np.tile(share, (n_components, 1)), X, doc_topic_prior=0.3)
        assert value == pytest.approx(0.0, abs=1e-5)
    assert relative_score(CORPUS.components, X, **TRUTH) > 1.0


def test_words_that_a_vocabulary_lacks_count_as_predicted_by_their_frequencies():
    """Topics over all words, that know no more of some than their shares, score as those over the others.

    The hidden words differ: hence the mean over several choices, and long documents.
    """
    half = np.arange(20)
    long = make_lda_documents(100, components=CORPUS.components, mean_length=300, random_state=2)
    counts = sp.csr_array(long.data)
    part = CORPUS.components[:, half] / CORPUS.components[:, half].sum(axis=1, keepdims=True)
    share = np.asarray(counts.sum(axis=0) / counts.sum())
    whole = np.tile(share, (4, 1))
    whole[:, half] = part * share[half].sum()
    options = {**TRUTH, "n_repeats": 40}
    assert relative_score(whole, counts, **options) == pytest.approx(
        relative_score(part, counts[:, half], **options), rel=0.02
    )


def test_relative_score_finds_the_vocabulary_where_score_takes_the_smallest():
    """Two words are in all documents, a hundred tell topics apart, and the others occur once."""
    rng = np.random.RandomState(0)
    texts = []
    for number in range(240):
        topic = number % 4
        told = [f"topic{topic}word{word}" for word in rng.randint(25, size=12)]
        texts.append(" ".join(["common", "usual", *told, f"once{number}", f"single{number}"]))
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(4, max_iter=20, random_state=2))
    grid = {"countvectorizer__min_df": [1, 2, 0.9]}
    chosen = {}
    for name, scoring in (("score", None), ("completion", document_completion), ("relative", relative_score)):
        search = GridSearchCV(pipe, grid, scoring=scoring, cv=3).fit(texts)
        chosen[name] = search.best_params_["countvectorizer__min_df"]
    assert chosen == {"score": 0.9, "completion": 0.9, "relative": 2}
    # Rare words tell much each; there are few of them.
    by_word = lambda model, X, y=None: relative_score(model, X, per="word")  # noqa: E731
    values = [
        GridSearchCV(
            make_pipeline(CountVectorizer(min_df=2, max_df=most), pipe[-1]), {}, scoring=scoring, cv=3
        )
        .fit(texts)
        .best_score_
        for scoring in (by_word, relative_score)
        for most in (0.9, 1.0)
    ]
    assert values[0] > values[1] and values[2] == pytest.approx(values[3], rel=0.05)


def test_left_to_right_takes_any_random_state():
    def value(random_state):
        return left_to_right(CORPUS.components, X[:9], random_state=random_state, **TRUTH)

    assert value(3) == value(3) != value(4)
    assert value(np.random.RandomState(3)) == value(np.random.RandomState(3))
    generator = np.random.RandomState(3)
    assert value(generator) != value(generator)
    assert value(None) != value(None)


@pytest.mark.parametrize("metric", [document_completion, left_to_right], ids=lambda metric: metric.__name__)
def test_equal_topics_give_the_unigram_likelihood(metric):
    """With all topics the same, nothing is left to infer."""
    unigram = np.random.RandomState(0).dirichlet(np.ones(40))
    documents = 3 * np.eye(40)[:10]
    value = metric(np.tile(unigram, (4, 1)), documents, doc_topic_prior=0.1)
    assert value == pytest.approx(np.log(unigram[:10]).mean(), rel=1e-6)


def test_one_topic_gives_the_unigram_likelihood():
    unigram = CORPUS.components[:1]
    expected = (X @ np.log(unigram[0])).sum() / X.sum()
    assert left_to_right(unigram, X, doc_topic_prior=0.5) == pytest.approx(expected, rel=1e-6)


def test_completion_of_single_words_is_their_prior_probability():
    """A document of one word is hidden as a whole, and predicted from the prior mean."""
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    single = np.eye(40)[[0, 3, 9]]
    expected = np.log(prior @ CORPUS.components)[[0, 3, 9]].mean()
    value = document_completion(CORPUS.components, single, doc_topic_prior=prior)
    assert value == pytest.approx(expected, rel=1e-6)
    value = left_to_right(CORPUS.components, single, doc_topic_prior=prior)
    assert value == pytest.approx(expected, rel=1e-6)


def exact_log_likelihood(words, components, prior):
    """log p(words) of tokens in order, by summing over all assignments of topics."""
    terms = []
    for topics in itertools.product(range(len(prior)), repeat=len(words)):
        counts = np.bincount(topics, minlength=len(prior))
        term = gammaln(prior.sum()) - gammaln(prior.sum() + len(words))
        term += (gammaln(prior + counts) - gammaln(prior)).sum()
        terms.append(term + np.log(components[list(topics), list(words)]).sum())
    return logsumexp(terms)


@pytest.mark.parametrize("estimator", ["wallach", "unbiased"])
def test_left_to_right_converges_to_the_exact_likelihood(estimator):
    """Documents of up to six words, summed over all assignments: within 0.01 nats a document."""
    rng = np.random.RandomState(0)
    components, prior = rng.dirichlet(np.full(6, 0.5), size=3), np.array([0.2, 0.5, 0.8])
    documents = [[0, 1], [2, 2, 3], [0, 1, 2, 3, 4], [5, 5, 5, 0, 0, 1]]
    counts = np.array([np.bincount(words, minlength=6) for words in documents])
    exact = [exact_log_likelihood(words, components, prior) for words in documents]
    options = {"estimator": estimator, "n_particles": 20_000, "n_resampling": 5, "per_document": True}
    estimated = left_to_right(components, counts, doc_topic_prior=prior, **options)
    assert_allclose(estimated, exact, atol=0.01)


def test_both_estimators_are_near_each_other_on_short_documents():
    short = make_lda_documents(200, components=CORPUS.components, mean_length=8, random_state=3).data
    values = [
        left_to_right(CORPUS.components, short, estimator=estimator, n_particles=200, **TRUTH)
        for estimator in ("wallach", "unbiased")
    ]
    assert values[0] == pytest.approx(values[1], abs=0.01)


def test_random_state_names_other_particles():
    values = [left_to_right(CORPUS.components, X, random_state=seed, **TRUTH) for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]
    assert values[0] == pytest.approx(values[2], abs=0.02)


def test_repeats_average_over_choices_of_hidden_words():
    """The first choice is the one of n_repeats=1, and more of them vary less around the same mean."""
    one = document_completion(CORPUS.components, X, **TRUTH)
    many = document_completion(CORPUS.components, X, n_repeats=20, **TRUTH)
    two = document_completion(CORPUS.components, X, n_repeats=2, **TRUTH)
    assert one != two != many
    assert many == pytest.approx(one, abs=0.2)
    assert document_completion(CORPUS.components, X, n_repeats=20, **TRUTH) == many
    larger = make_lda_documents(2000, components=CORPUS.components, mean_length=25, random_state=5).data
    precise = document_completion(CORPUS.components, larger, **TRUTH)
    assert document_completion(CORPUS.components, larger, n_repeats=3, **TRUTH) == pytest.approx(
        precise, abs=0.03
    )


def test_hiding_more_makes_prediction_harder():
    bars = make_bars(300, random_state=0)
    options = {"doc_topic_prior": bars.doc_topic_prior, "n_repeats": 2}
    values = [
        document_completion(bars.components, bars.data, hidden_fraction=fraction, **options)
        for fraction in (0.1, 0.5, 0.95)
    ]
    assert values[0] > values[1] > values[2]


@pytest.mark.parametrize("metric", [document_completion, left_to_right], ids=lambda metric: metric.__name__)
def test_true_parameters_score_at_least_as_well_as_perturbed_ones(metric):
    """More perturbation of the topics, lower scores; and so with the prior, a factor of ten off."""
    bars = make_bars(100, doc_length=50, random_state=0)
    rng = np.random.RandomState(0)
    noise = rng.dirichlet(np.full(25, 0.3), size=10)

    def value(share, prior=0.1):
        return metric((1 - share) * bars.components + share * noise, bars.data, doc_topic_prior=prior)

    values = [value(share) for share in (0.0, 0.1, 0.3, 0.8)]
    assert np.all(np.diff(values) < 0)
    assert value(0.0) > value(0.0, 1.0)
    assert value(0.0) > value(0.0, 0.005)


@pytest.mark.parametrize("metric", [document_completion, left_to_right], ids=lambda metric: metric.__name__)
def test_impossible_words_give_minus_infinity_without_warnings(metric):
    components = CORPUS.components.copy()
    components[:, 7] = 0
    impossible = np.zeros((3, 40))
    impossible[:, 7] = 10
    impossible[:, 3] = 1
    assert metric(components, impossible, doc_topic_prior=0.1) == -np.inf
    assert perplexity(components, impossible, doc_topic_prior=0.1) == np.inf
    mixed = sp.vstack([X, sp.csr_matrix(impossible)])
    assert metric(components, mixed, doc_topic_prior=0.1) == -np.inf
    # Words that no topic has and no document either do no harm.
    kept = X.toarray()
    kept[:, 7] = 0
    assert np.isfinite(metric(components, kept, doc_topic_prior=0.1))


def test_impossible_documents_alone_are_minus_infinite_in_left_to_right():
    components = CORPUS.components.copy()
    components[:, 7] = 0
    documents = np.zeros((3, 40))
    documents[:, 3] = 2
    documents[1, 7] = 1
    each = left_to_right(components, documents, doc_topic_prior=0.1, per_document=True)
    assert_array_equal(np.isneginf(each), [False, True, False])
    assert np.isfinite(each[[0, 2]]).all()


@pytest.mark.parametrize("inference", ["gibbs", "variational"])
def test_own_score_is_close_to_completion_with_the_common_fold_in(inference):
    """They hide the same words and differ in the inference of proportions alone."""
    bars = make_bars(400, random_state=0)
    held_out = make_bars(200, random_state=1).data
    settings = {"doc_topic_prior": 0.05, "max_iter": 4, "batch_size": 25, "random_state": 0}
    long = {"transform_burn_in": 20, "transform_sweeps": 20}
    model = OnlineEMLDA(20, inference=inference, **settings, **long).fit(bars.data)
    assert model.score(held_out) == pytest.approx(document_completion(model, held_out), abs=0.03)


def test_real_valued_counts_are_accepted():
    for metric in METRICS:
        assert np.isfinite(metric(CORPUS.components, X * 0.37, **TRUTH))


def test_a_huge_count_is_cheap():
    counts = X.toarray().astype(float)
    counts[0, 0] = 1e9
    for metric in METRICS:
        assert np.isfinite(metric(CORPUS.components, counts, **TRUTH))


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (document_completion, "burn_in"),
        (document_completion, "sweeps"),
        (left_to_right, "n_resampling"),
        (left_to_right, "n_particles"),
    ],
)
def test_numbers_that_kernels_cannot_hold_are_refused(metric, name, model):
    with pytest.raises(ValueError, match=f"'{name}' .* range .* Got {2**31}"):
        metric(model, X, **{name: 2**31})


@pytest.mark.parametrize("metric", [document_completion, left_to_right, perplexity])
def test_pipelines_are_scored_on_what_their_last_step_sees(metric):
    texts = ["one two two three", "three four five", "one five five two", "four four one"] * 3
    pipe = make_pipeline(CountVectorizer(), OnlineEMLDA(2, random_state=0)).fit(texts)
    assert metric(pipe, texts) == metric(pipe[-1], pipe[0].transform(texts))


def test_table_with_a_column_named_fit_is_an_array_of_topics():
    pd = pytest.importorskip("pandas")
    components = np.array([[0.5, 0.5], [0.9, 0.1]])
    table = pd.DataFrame(components, columns=["fit", "transform"])
    documents = np.array([[3, 1], [0, 4]])
    given = {"doc_topic_prior": 0.5}
    assert document_completion(table, documents, **given) == document_completion(
        components, documents, **given
    )


def test_model_of_another_library_is_refused_with_a_hint():
    with pytest.raises(TypeError, match="n_components, n_features"):
        document_completion(object(), np.ones((2, 2)))


@pytest.mark.parametrize("metric", [document_completion, left_to_right, coherence])
def test_columns_of_a_data_frame_in_another_order_are_refused(metric):
    pandas = pytest.importorskip("pandas")
    names = [f"w{i}" for i in range(25)]
    frame = pandas.DataFrame(make_bars(40, random_state=0).data.toarray(), columns=names)
    model = OnlineEMLDA(4, random_state=0).fit(frame)
    assert np.isfinite(metric(model, frame))
    with pytest.raises(ValueError, match="X has 'w24' in column 0, but the topics have 'w0'"):
        metric(model, frame.iloc[:, ::-1])
