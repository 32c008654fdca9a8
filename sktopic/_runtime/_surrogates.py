"""Lone surrogates in strings, which neither UTF-8 nor pictures nor pages can hold."""


def shown(text):
    """Return a string with U+FFFD, the replacement character, in the place of each lone surrogate."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encoded(text, name):
    """Return a string in UTF-8; ValueError that names the parameter it is from if it has a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{name} has {text!r:.80}, which contains a lone surrogate: files and tables cannot hold it. "
            "text.encode(errors='replace').decode() replaces it."
        ) from error
