"""The state of an estimator in the hands of the call that trains it."""

from sktopic._estimators._concurrency import changing, check_parameters, check_state
from sktopic._estimators._fitted_state import check_arrays
from sktopic._runtime._interrupt import complete_or_undone


class Training:
    """What a trainer may do with an estimator: read its state, and set the next one.

    Parameters
    ----------
    model : estimator whose training call is running
    """

    def __init__(self, model):
        self._model, self._state = model, model._state

    @property
    def state(self):
        return self._state

    @state.setter
    def state(self, state):
        self._model._state = self._state = state

    def check_undisturbed(self):
        """Raise an error if somebody else has set parameters, the state, or sizes of its arrays."""
        check_parameters(self._model)
        check_state(self._model, self._state)
        check_arrays(self._model)

    def changing(self):
        """The lock to hold while the state is changed, so that readers wait."""
        return changing(self._model)

    def complete_or_undone(self, *, waits, undo=None):
        """Context manager of a block that sets the state: it is complete, or the state is that before.

        waits : whether Ctrl-C waits for the end of the block, and does not stop it
        undo : function that restores what the block has changed inside arrays of that state
        """
        return complete_or_undone(self._model, undo, waits=waits)
