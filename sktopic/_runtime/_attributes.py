"""Objects and their attributes: the one module that goes behind constructors and assignments.

Snapshots, copies on which a fit begins, states after an update and what is undone need no more than this.
"""


def attributes_of(owner):
    """The attributes of an object by name, a dict of its own: other threads may set some meanwhile."""
    return vars(owner).copy()


def twin(owner, /, **changes):
    """A shallow copy of an object with other values of some attributes; its class runs no code."""
    made = object.__new__(type(owner))
    vars(made).update(vars(owner), **changes)
    return made


def set_attributes(owner, given, names=None):
    """Let attributes be those of a dict; what the dict has not is deleted.

    names : of the attributes; None: all, those of the object too
    """
    attributes = vars(owner)
    for name in attributes.keys() | given.keys() if names is None else names:
        if name in given:
            attributes[name] = given[name]
        else:
            attributes.pop(name, None)
