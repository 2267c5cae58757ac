"""Networks at random: without a hub, so that what runs real switches may use them, too."""

import random


def mesh(size: int, links: int, seed: int) -> list[tuple[int, int]]:
    """A random connected network without parallel links; its bridges are numbered from 1."""
    chance = random.Random(seed)
    pairs = {(chance.randrange(1, n), n) for n in range(2, size + 1)}
    while len(pairs) < links:
        one, other = chance.sample(range(1, size + 1), 2)
        pairs.add((min(one, other), max(one, other)))
    return sorted(pairs)
