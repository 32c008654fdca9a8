"""Our estimators under the names of other libraries, so that these libraries' own tests can run on them.

Names and parameters are mapped as doc/guide/coming_from.rst says, and nothing else is: a class here holds an
estimator, or inherits from it, and has no code that learns or infers. `PLACES` says which names are
replaced.
"""

import importlib
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma

import sktopic
from sktopic._loading import CLASSES
from sktopic.metrics import coherence

seed = None  # takes the place of the random_state that scikit-learn's tests of LDA choose


def replace(project, ours, mapped):
    """Put our class of this name in the place of theirs, before their tests are imported.

    mapped : whether results are what they are there, too, where the page on coming from them says how
    """
    for module, name, make in PLACES[project]:
        home = importlib.import_module(module)
        setattr(home, name, make(getattr(home, name), ours, mapped))


# scikit-learn


def latent_dirichlet_allocation(theirs, ours, mapped):
    """Ours with their parameters and defaults; ours may be "", which is theirs."""
    own = CLASSES.get(ours, theirs)
    known = set(own._get_param_names())
    defaults = {k: v for k, v in theirs().get_params().items() if k in known and v is not None}
    if own is not theirs:
        defaults |= {"shuffle": False, "total_samples": None}

    class LatentDirichletAllocation(own):
        @classmethod
        def _get_param_names(cls):
            return own._get_param_names()

        def __init__(self, n_components=10, **given):
            priors = dict.fromkeys(("doc_topic_prior", "topic_word_prior"), 1 / n_components)
            settings = {**defaults, **priors, **{k: v for k, v in given.items() if k in known}}
            settings["n_components"] = n_components
            if seed is not None:
                settings["random_state"] = seed
            if ours == "OnlineEMLDA":  # a number is a fixed prior, and the steps have the given exponent
                settings["prior_update"] = "fixed-point"
            super().__init__(**settings)

    if not mapped or own is theirs:
        return LatentDirichletAllocation

    class Mapped(LatentDirichletAllocation):
        @property
        def components_(self):
            posterior = getattr(self, "topic_word_posterior_", None)
            return super().components_ if posterior is None else posterior

        def score(self, X, y=None):
            return self.elbo(X) if hasattr(self, "elbo") else super().score(X) * X.sum()

        def perplexity(self, X, sub_sampling=False):
            return float(np.exp(-self.score(X) / X.sum()))

        def transform(self, X, normalize=True):
            return super().transform(X)

    Mapped.__name__ = Mapped.__qualname__ = "LatentDirichletAllocation"
    return Mapped


def tested_estimators(theirs, ours, mapped):
    """All of our estimators, small, in the place of scikit-learn's."""

    def estimators(type_filter=None):
        small = {"n_components": 3, "max_iter": 3, "max_doc_update_iter": 10, "batch_size": 10}
        if type_filter in (None, "transformer"):
            for name in sorted(CLASSES):
                estimator = CLASSES[name]()
                known = estimator.get_params()
                yield estimator.set_params(**{k: v for k, v in small.items() if k in known})

    return estimators


# gensim


class Topics:
    """What gensim's models answer about topics, all of it read from components_."""

    def get_topics(self):
        return self.estimator.components_

    def show_topic(self, topicid, topn=10):
        row = self.get_topics()[topicid]
        return [(self.id2word[int(j)], row[j]) for j in np.argsort(-row)[:topn]]

    def show_topics(self, num_topics=10, num_words=10, formatted=True):
        topics = [(k, self.show_topic(k, num_words)) for k in range(len(self.get_topics()))][:num_topics]
        if formatted:
            topics = [(k, " + ".join(f'{p:.3f}*"{word}"' for word, p in topic)) for k, topic in topics]
        return topics

    print_topics = show_topics

    def _matrix(self, corpus):
        from gensim.matutils import corpus2csc

        return sp.csr_array(corpus2csc(corpus, num_terms=len(self.id2word)).T)


def lda_model(theirs, ours, mapped):
    from gensim.utils import is_corpus

    class WrongShape(ValueError, AssertionError):
        """A ValueError for those who expect an AssertionError."""

    class LdaModel(Topics):
        def __init__(self, corpus=None, num_topics=100, id2word=None, passes=1, chunksize=2000, decay=0.5,
                     offset=1.0, iterations=50, alpha="symmetric", eta=None, random_state=None):  # fmt: skip
            self.num_topics, self.passes, self.random_state = num_topics, passes, random_state
            n_words = len(id2word) if id2word is not None else 1 + max(j for doc in corpus for j, _ in doc)
            self.id2word = id2word or range(n_words)
            fixed = {"symmetric": 1 / num_topics, None: 1 / num_topics}
            fixed["asymmetric"] = 1 / (np.arange(num_topics) + np.sqrt(num_topics))
            fixed["asymmetric"] /= fixed["asymmetric"].sum()
            if alpha is None or isinstance(alpha, str):
                alpha = fixed.get(alpha, alpha)
            if eta is None or (isinstance(eta, str) and eta == "symmetric"):
                eta = 1 / num_topics
            if np.ndim(eta) == 1:
                eta = np.tile(eta, (num_topics, 1))
            given = {"prior_update": "gradient", "learning_decay": decay, "learning_offset": offset}
            given |= {"doc_topic_prior": alpha, "topic_word_prior": eta, "batch_size": chunksize}
            given |= {"max_doc_update_iter": max(iterations, 1), "max_iter": max(passes, 1)}
            given |= {"shuffle": False, "random_state": random_state}
            estimator = sktopic.OnlineVariationalLDA(num_topics, **given)
            self.state = SimpleNamespace(estimator=estimator, numdocs=0)
            if corpus is not None and passes:
                self.update(corpus)
            else:  # a document without words: the model as it is before it has learned
                try:
                    estimator.partial_fit(sp.csr_array((1, n_words)))
                except ValueError as error:
                    shape = any(word in str(error) for word in ("shape", "values", "entries"))
                    raise (WrongShape if shape else ValueError)(str(error)) from error

        @property
        def estimator(self):
            return self.state.estimator

        def update(self, corpus):
            X = self._matrix(corpus)
            if not self.state.numdocs:
                self.estimator.fit(X)
            else:
                for _ in range(self.passes):
                    self.estimator.partial_fit(X)
            self.state.numdocs += X.shape[0]

        def sync_state(self):
            pass

        @property
        def alpha(self):
            return self.estimator.doc_topic_prior_

        @property
        def eta(self):
            return np.full(len(self.id2word), self.estimator.topic_word_prior_)

        @property
        def expElogbeta(self):
            posterior = self.estimator.topic_word_posterior_
            return np.exp(digamma(posterior) - digamma(posterior.sum(axis=1, keepdims=True)))

        def get_document_topics(self, bow, minimum_probability=0.01, minimum_phi_value=0.01,
                                per_word_topics=False):  # fmt: skip
            several, corpus = is_corpus(bow)
            if several:
                given = minimum_probability, minimum_phi_value, per_word_topics
                return [self.get_document_topics(doc, *given) for doc in corpus]
            X = self._matrix([bow])
            theta = self.estimator.transform(X)[0]
            topics = [(k, theta[k]) for k in range(len(theta)) if theta[k] >= minimum_probability]
            if not per_word_topics:
                return topics
            of_words, of_phis = [], []
            for j, ks, ps in zip(X.indices, *self.estimator.word_topics(X, self.num_topics)):
                kept = [(int(k), p) for k, p in zip(ks, ps) if p >= minimum_phi_value]
                of_words.append((int(j), [k for k, _ in kept]))
                of_phis.append((int(j), kept))
            return topics, of_words, of_phis

        def __getitem__(self, bow):
            return self.get_document_topics(bow)

        def get_topic_terms(self, topicid, topn=10):
            row = self.get_topics()[topicid]
            return [(int(j), row[j]) for j in np.argsort(-row)[:topn]]

        def get_term_topics(self, word, minimum_probability=0.01):
            column = self.get_topics()[:, self.id2word.token2id[word] if isinstance(word, str) else word]
            return [(k, p) for k, p in enumerate(column) if p >= minimum_probability]

        def top_topics(self, corpus, topn=10):
            settings = {"measure": "u_mass", "n_words": topn, "per_topic": True}
            each = coherence(self.estimator, self._matrix(corpus), **settings)
            topics = [[(p, word) for word, p in self.show_topic(k, topn)] for k in range(len(each))]
            return sorted(zip(topics, map(float, each)), key=lambda pair: -pair[1])

        def save(self, path, sep_limit=None):
            self.estimator.save(path)

        @classmethod
        def load(cls, path, mmap=None):
            model = cls.__new__(cls)
            model.state = SimpleNamespace(estimator=sktopic.load(path, mmap_mode=mmap), numdocs=0)
            model.num_topics = model.estimator.n_components_
            model.id2word = range(model.estimator.n_features_in_)
            return model

    return LdaModel


def hdp_model(theirs, ours, mapped):
    class HdpModel(Topics):
        def __init__(self, corpus, id2word, random_state=None):
            self.id2word = id2word
            self.estimator = CLASSES[ours](random_state=random_state).fit(self._matrix(corpus))

    return HdpModel


def coherence_model(theirs, ours, mapped):
    """gensim's CoherenceModel, by the recipe of doc/guide/coherence.rst; each value has to be gensim's."""

    class CoherenceModel:
        def __init__(self, model=None, topics=None, texts=None, corpus=None, dictionary=None,
                     coherence="c_v", topn=20, processes=-1):  # fmt: skip
            self.given = {"topics": topics, "texts": texts, "corpus": corpus, "dictionary": dictionary}
            self.given |= {"model": model, "coherence": coherence, "topn": topn, "processes": 1}
            dictionary = dictionary or model.id2word
            self.words = [dictionary[j] for j in range(len(dictionary))]
            self.measure, self.topn = coherence, topn
            self.documents = texts if coherence != "u_mass" else [dict(document) for document in corpus]
            if model is not None:
                self.components = model.get_topics()
                return
            column = {word: j for j, word in enumerate(self.words)} | {j: j for j in range(len(self.words))}
            self.components = np.zeros((len(topics), len(self.words)))
            for row, topic in zip(self.components, topics):
                ids = [column[word] for word in topic if word in column]
                if not ids:
                    raise ValueError(f"{topic} has none of the words.")
                row[ids] = np.arange(len(ids), 0, -1)

        def get_coherence_per_topic(self):
            return np.concatenate([self._coherence_of(row) for row in self.components])

        def _coherence_of(self, row):
            n_words = min(self.topn, np.count_nonzero(row))
            settings = {"measure": self.measure, "n_words": n_words, "per_topic": True}
            if self.measure == "u_mass":
                settings["X"] = [[doc.get(j, 0) for j in range(len(self.words))] for doc in self.documents]
            else:
                settings |= {"texts": self.documents, "feature_names": self.words}
            return coherence([row], **settings)

        def get_coherence(self):
            each = self.get_coherence_per_topic()
            np.testing.assert_allclose(each, theirs(**self.given).get_coherence_per_topic(), rtol=1e-10)
            return np.mean(each)

    return CoherenceModel


# lda


def lda_class(theirs, ours, mapped):
    class LDA:
        def __init__(self, n_topics, n_iter=2000, alpha=0.1, eta=0.01, random_state=None, refresh=10):
            self.random_state = random_state
            every = min(refresh, max(n_iter, 1))
            given = {"max_iter": n_iter, "evaluate_every": every, "random_state": random_state}
            given |= {"doc_topic_prior": alpha, "topic_word_prior": eta, "n_draws": 1}
            self.estimator = sktopic.CollapsedGibbsLDA(n_topics, **given)

        def fit(self, X):
            self.fit_transform(X)
            return self

        def fit_transform(self, X):
            self.estimator.fit(X)
            self.components_ = self.topic_word_ = self.estimator.components_
            self.nzw_ = self.estimator.topic_word_counts_
            self.nz_ = self.nzw_.sum(axis=1)
            self.loglikelihoods_ = list(self.estimator.log_likelihood_)
            self.doc_topic_ = self.estimator.transform(X)
            return self.doc_topic_

        def transform(self, X):
            return self.estimator.transform(X if sp.issparse(X) else np.atleast_2d(X))

        def loglikelihood(self):
            return self.estimator.log_likelihood_[-1]

    return LDA


PLACES = {
    "scikit-learn": [("sklearn.decomposition", "LatentDirichletAllocation", latent_dirichlet_allocation)],
    "scikit-learn, common": [
        ("sklearn.utils._test_common.instance_generator", "_tested_estimators", tested_estimators)
    ],
    "gensim": [
        ("gensim.models.ldamodel", "LdaModel", lda_model),
        ("gensim.models.ldamulticore", "LdaMulticore", lda_model),
        ("gensim.models.hdpmodel", "HdpModel", hdp_model),
        ("gensim.models.coherencemodel", "CoherenceModel", coherence_model),
    ],
    "lda": [("lda", "LDA", lda_class)],
}
