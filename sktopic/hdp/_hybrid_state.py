"""What HybridHDP has learned, and what edits and moves of topics make of it."""

from dataclasses import dataclass

import numpy as np

from sktopic._state._fields import array, changed, edited, part
from sktopic._topics._word_count_edits import divided_topics, edited_topics
from sktopic.hdp._hdp_state import MOVE, HDPState
from sktopic.hdp._root import Root
from sktopic.hdp._window import Window


@dataclass(frozen=True, eq=False, kw_only=True)
class HybridState(HDPState):
    """The state after some updates.

    Attributes
    ----------
    root : Root
        Tables of the topics in documents, from which their weights follow.
    window : Window or None
        Documents seen last, with the topics of their tokens. With split_merge=True alone, as the next.
    move_history : ndarray of shape (n_moves,), structured, or None
    """

    root: Root = part(Root)
    window: Window | None = part(Window, optional=True)
    move_history: np.ndarray | None = array(MOVE, None, optional=True)

    def check(self):
        """Raise ValueError for parts that do not fit together."""
        super().check()
        if self.window is not None:
            self.window.check()


def edited_columns(state, edit):
    """The state after a TopicEdit of the topics in all columns; no array is changed in place."""
    if not edit.keeps_columns:
        state = changed(state, ids=edit.left(state.ids), in_use=np.arange(edit.n_left))
    window = state.window
    return changed(
        state,
        words=edited_topics(state.words, edit),
        root=edited(state.root, edit),
        # Tokens in the window have the topics before the edit.
        window=None if window is None else Window.empty(window.target),
    )


def divided_columns(state, division):
    """The state in which parts of topics are topics of their own, behind the others.

    division : Division, by columns
    """
    topics, tables = division.topics, state.root.tables
    n_new, moved = len(topics), tables[topics] * division.shares
    left = np.maximum(tables - np.bincount(topics, moved, minlength=len(tables)), 0.0)
    return changed(
        state,
        words=divided_topics(state.words, topics, division.of_words),
        root=changed(state.root, tables=np.append(left, moved)),
        ids=np.append(state.ids, state.next_id + np.arange(n_new)),
        next_id=state.next_id + n_new,
        in_use=np.arange(len(tables) + n_new),
    )
