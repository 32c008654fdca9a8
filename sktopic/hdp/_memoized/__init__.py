"""Memoized variational inference for the direct-assignment HDP (Hughes and Sudderth, 2013).

Each batch of documents stores a summary, which the next visit to the batch replaces. The summaries give the
bound of the whole corpus, so moves of topics are judged on all documents.
"""
