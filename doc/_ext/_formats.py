"""Figures as the short tables have them."""

import math
import re

NONE = "\N{EN DASH}"  # an empty cell; a hyphen would be read as a bullet
MISSING = ("", "-", None)
PLUS_MINUS = re.compile(r"([+-]?[\d.]+) ± ([\d.]+)(.*)")


def fixed(cell, digits=2, sign=False):
    """A number with so many decimals; zero has no sign."""
    if cell in MISSING:
        return NONE
    text = f"{float(cell):{'+' if sign else ''}.{digits}f}"
    return text if float(text) else text.lstrip("+-")


def change(cell, digits=2):
    return fixed(cell, digits, sign=True)


def percent(cell):
    return fixed(100 * float(cell), 0)


def whole(cell):
    return f"{int(cell):,}"


def rounded_down(x):
    """To one digit."""
    unit = 10 ** math.floor(math.log10(x))
    return int(x / unit) * unit


def significant(cell, digits=2):
    """Thousands are written out, with commas: 98,000."""
    if cell in MISSING:
        return NONE
    x = float(cell)
    decimals = digits - 1 - math.floor(math.log10(abs(x))) if x else 0
    return f"{round(x, decimals):,.{max(decimals, 0)}f}"


def decimals_of(reach):
    """As many as an interval supports: one digit of what it reaches, two where that begins with one."""
    if not reach or math.isnan(reach):
        return 3
    first = math.floor(math.log10(abs(reach)))
    return min(max(-first + (reach < 2 * 10**first), 0), 3)


def supported(cell, low, high, sign=False):
    """A mean with its interval; two decimals where there is none."""
    if low in MISSING:
        return fixed(cell, 2, sign)
    digits = decimals_of((float(high) - float(low)) / 2)
    return f"{fixed(cell, digits, sign)} ({fixed(low, digits, sign)} to {fixed(high, digits, sign)})"


def with_range(cell, interval, sign=False, without=2):
    """The same of an interval such as "0.1 to 0.3"."""
    low, _, high = interval.partition(" to ")
    return supported(cell, low, high, sign) if low else fixed(cell, without, sign)


def plus_minus(cell, sign=True):
    """Of "0.019 ± 0.015", or of a number alone."""
    found = PLUS_MINUS.fullmatch(cell or "")
    if not found:
        return fixed(cell, 2, sign) if re.fullmatch(r"[+-]?[\d.]+", cell or "") else cell or NONE
    mean, reach, rest = found.groups()
    digits = decimals_of(float(reach))
    return f"{fixed(mean, digits, sign)} ± {fixed(reach, digits)}{rest}"


def spread(cell):
    """Of "20 20 21": the least and the most."""
    numbers = sorted(map(int, cell.split()))
    return f"{numbers[0]}" if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"


def bracketed(cell):
    """Of "-7.613 ± 0.006 (1 s)": two decimals, and what is in the brackets."""
    found = re.fullmatch(r"(\S+)(?: ± \S+)? \(([\d.]+)( s)?\)", cell)
    return f"{fixed(found[1])} ({found[2]}{(found[3] or '').replace(' ', chr(0xA0))})" if found else NONE
