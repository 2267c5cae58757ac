"""Colours as people with and without all three kinds of cones see them, and how they differ.

A colour is (red, green, blue) of sRGB, each from 0 to 1.
"""

from __future__ import annotations

from math import atan2, cos, degrees, exp, hypot, radians, sin

Colour = tuple[float, float, float]

MISSING_CONES: dict[str, tuple[Colour, Colour, Colour]] = {
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Matrices for linear red, green and blue (Machado, Oliveira and Fernandes 2009, severity 1)."""


def parsed(text: str) -> Colour:
    """The colour of #rrggbb."""
    red, green, blue = (int(text[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


def seen(colour: Colour, sight: str) -> Colour:
    """The colour as it is seen without a kind of cones; sight: as in `MISSING_CONES`, or normal."""
    if sight == "normal":
        return colour
    linear = _linear(colour)
    red, green, blue = (
        _encoded(sum(part * own for part, own in zip(row, linear, strict=True)))
        for row in MISSING_CONES[sight]
    )
    return red, green, blue


def contrast(one: Colour, other: Colour) -> float:
    """The ratio of luminances, 1 to 21 (WCAG 2.2)."""
    low, high = sorted(
        sum(part * own for part, own in zip((0.2126, 0.7152, 0.0722), _linear(each), strict=True))
        for each in (one, other)
    )
    return (high + 0.05) / (low + 0.05)


def difference(one: Colour, other: Colour) -> float:
    """CIEDE2000 (Sharma, Wu and Dalal 2005): 1 is just noticeable side by side, 100 black-white."""
    return ciede2000(_lab(one), _lab(other))


def ciede2000(one: Colour, other: Colour) -> float:
    """The difference of two colours of CIELAB."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (hypot(a1, b1) + hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * (mean**7 / (mean**7 + 25**7)) ** 0.5
    a1, a2 = a1 * stretch, a2 * stretch
    c1, c2 = hypot(a1, b1), hypot(a2, b2)
    h1, h2 = degrees(atan2(b1, a1)) % 360, degrees(atan2(b2, a2)) % 360
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    weight = (
        1
        - 0.17 * cos(radians(hue - 30))
        + 0.24 * cos(radians(2 * hue))
        + 0.32 * cos(radians(3 * hue + 6))
        - 0.20 * cos(radians(4 * hue - 63))
    )
    by_light = (l2 - l1) / (1 + 0.015 * (light - 50) ** 2 / (20 + (light - 50) ** 2) ** 0.5)
    by_chroma = (c2 - c1) / (1 + 0.045 * chroma)
    by_hue = 2 * (c1 * c2) ** 0.5 * sin(radians(turn / 2)) / (1 + 0.015 * chroma * weight)
    bend = 30 * exp(-(((hue - 275) / 25) ** 2))
    rotation = -2 * (chroma**7 / (chroma**7 + 25**7)) ** 0.5 * sin(radians(2 * bend))
    whole = by_light**2 + by_chroma**2 + by_hue**2 + rotation * by_chroma * by_hue
    return float(whole**0.5)


def _linear(colour: Colour) -> Colour:
    red, green, blue = (
        own / 12.92 if own <= 0.04045 else ((own + 0.055) / 1.055) ** 2.4 for own in colour
    )
    return red, green, blue


def _encoded(linear: float) -> float:
    own = min(1.0, max(0.0, linear))
    return 12.92 * own if own <= 0.0031308 else 1.055 * own ** (1 / 2.4) - 0.055


def _lab(colour: Colour) -> Colour:
    """CIELAB for the white of sRGB, D65."""
    red, green, blue = _linear(colour)
    white = (
        (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047,
        0.2126729 * red + 0.7151522 * green + 0.0721750 * blue,
        (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883,
    )
    fx, fy, fz = (
        own ** (1 / 3) if own > 216 / 24389 else (24389 / 27 * own + 16) / 116 for own in white
    )
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)
