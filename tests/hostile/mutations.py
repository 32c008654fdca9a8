"""Mutations of the bytes of any file: functions of its content and a generator of random numbers."""


def flip_bits(content, draw):
    mutated = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8)) if content else 0):
        mutated[draw.randrange(len(mutated))] ^= 1 << draw.randrange(8)
    return bytes(mutated)


def cut_or_extend(content, draw):
    at, size = draw.randint(0, len(content)), draw.randrange(1, 100)
    return draw.choice(
        (
            content[:at],
            content[at:],
            content[:-size],
            content + bytes(size),
            content + content,
            content[:at] + draw.choice((bytes, draw.randbytes))(size) + content[at:],
            content[:at] + content[at + size :],
            b"",
        )
    )


def splice(content, draw):
    """A part of the content in another place."""
    source, target = draw.randint(0, len(content)), draw.randint(0, len(content))
    part = content[source : source + draw.randrange(1, 200)]
    return content[:target] + part + content[target + len(part) :]


BYTES = flip_bits, cut_or_extend, splice
