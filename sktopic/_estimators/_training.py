"""The state of an estimator in the hands of the call that trains it."""

from sktopic._estimators._concurrency import changing
from sktopic._runtime._interrupt import complete_or_undone


class Training:
    """What a trainer may do with an estimator: read its state, and set the next one.

    Parameters
    ----------
    model : estimator whose training call is running
    """

    def __init__(self, model):
        self._model = model

    @property
    def state(self):
        return self._model._state

    @state.setter
    def state(self, state):
        self._model._state = state

    def check_undisturbed(self):
        """Raise an error if somebody else has changed parameters, or sizes of fitted arrays."""
        self._model._check_undisturbed()

    # Two context managers, for one `with`: a generator around both would leave gaps for Ctrl-C, and is not
    # among the frames by which `complete_or_undone` tells whether its block still runs.

    def changing(self):
        """Context manager in which readers wait."""
        return changing(self._model)

    def complete_or_undone(self, *, waits, undo=None):
        """Context manager of a change that Ctrl-C does not split.

        waits : whether Ctrl-C waits for the end of the block; else it leaves the state that was before
        undo : function that restores what the block has changed inside arrays of that state
        """
        return complete_or_undone(self._model, undo, waits=waits)
