"""Document steps: inference of the topics of the documents of a batch, given the topics of the corpus.

A step (`DocumentStep` and `TrainingStep` in `_protocol`) is a small object that holds its settings. Called
with a batch, the gathered topic rows of its words, the prior of proportions and a stream key for each
document, it returns what it has inferred: what becomes topic proportions (`InferredDocuments`) or, of a step
of training, enters the topic-word statistics (`ExpectedCounts`).

To add one, write a dataclass with a ``__call__`` like that of `GibbsStep`, in the module of its method, and a
kernel that treats some documents; then let ``_method`` of an estimator return it as ``inference`` or
``prediction`` of its method. A step of training returns `WeightedCounts` if the expected counts of a cell are
a weight times the row of its word, or an object with an ``add_to`` of its own, such as `DenseCounts`. This
folder has the steps that several methods use.
"""
