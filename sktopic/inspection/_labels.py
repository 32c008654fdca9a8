"""What topics are called in tables and pictures."""

from sktopic._plug_in import last_step


def topic_labels(model_or_components, n_components):
    """The names that topics were given, and "Topic 0" and so on for the others, list of str."""
    given = getattr(last_step(model_or_components), "_given_topic_names", dict)()
    return [given.get(topic, f"Topic {topic}") for topic in range(n_components)]
