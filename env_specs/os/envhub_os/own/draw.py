"""What templates draw: words, names, numbers, paths, times. The same name draws the same, in any process."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from envhub_os.task import File

T = TypeVar("T")

_WORDS = """
amber anchor apple arrow aspen atlas autumn badger bamboo barley basil beacon birch bishop blossom
bramble breeze bridge bronze canyon cedar cherry cinder citrus clover cobalt copper coral cotton cricket
crystal cypress daisy delta dolphin dragon drift eagle ebony echo elder ember falcon feather fennel fern
finch flint forest fossil fox garnet ginger glacier granite grove gull harbor hazel heron hickory hollow
honey indigo iris island ivory jade jasmine jasper juniper kelp kestrel lagoon lantern larch laurel lava
lemon lichen lilac linden lotus lunar lynx magnet magpie mango maple marble marten meadow mesa mint
mirror moss mulberry nectar nettle nickel nutmeg oak oasis ocean olive onyx opal orbit orchid osprey
otter owl oyster palm panther papaya pebble pepper pine plum pollen poplar prairie quail quartz quince
rabbit raven reef ridge river robin rosemary ruby saffron sage salmon sandal sapphire sequoia shadow
silver sparrow spruce starling stone summit sunset swallow tango teal thistle thunder thyme tiger timber
topaz tulip tundra turnip valley velvet violet walnut warbler willow winter wolf wren yarrow zephyr zinc
""".split()
_PEOPLE = """
ada alan anja bela boris carla chen clara dana david elif emil erika farid fiona george grace hana henri
ines ivan jana jonas karim kira lars lena luis maya milan mina nadia noor olga omar paula pedro rana rosa
samir sara selma stefan tara tomas uma vera viktor wanda yara yusuf zora
""".split()


class Draw:
    """A random generator that knows some words. No word, name or number of a token comes twice from one.

    Args:
        name: Its seed.
    """

    def __init__(self, name: str) -> None:
        self._random = random.Random(name)
        self._words = self._random.sample(_WORDS, len(_WORDS))
        self._people = self._random.sample(_PEOPLE, len(_PEOPLE))

    def word(self) -> str:
        """Return a word that was not drawn before."""
        return self._words.pop()

    def words(self, count: int) -> list[str]:
        """Return so many of them."""
        return [self.word() for _ in range(count)]

    def some_word(self) -> str:
        """Return any word of those that `word` has still to give; it may come again."""
        return self.choice(self._words)

    def person(self) -> str:
        """Return a first name that was not drawn before."""
        return self._people.pop()

    def account(self) -> str:
        """Return a name for an account, such as "mina482", that nobody would guess."""
        return f"{self.person()}{self.number(100, 999)}"

    def token(self) -> str:
        """Return something that nobody would guess, such as "fern-otter-48213"."""
        return f"{self.word()}-{self.word()}-{self.number(10000, 99999)}"

    def number(self, low: int, high: int) -> int:
        """Return an integer, both ends included."""
        return self._random.randint(low, high)

    def choice(self, values: Sequence[T]) -> T:
        """Return one of them."""
        return self._random.choice(values)

    def sample(self, values: Sequence[T], count: int) -> list[T]:
        """Return so many different ones of them, in any order."""
        return self._random.sample(values, count)

    def shuffled(self, values: Sequence[T]) -> list[T]:
        """Return all of them in another order."""
        return self.sample(values, len(values))

    def address(self) -> str:
        """Return an IP address of a network for examples."""
        return f"10.{self.number(0, 255)}.{self.number(0, 255)}.{self.number(1, 254)}"

    def sentence(self) -> str:
        """Return some words in a row."""
        return " ".join(self.some_word() for _ in range(self.number(4, 10)))

    def text(self, lines: int) -> str:
        """Return lines of words."""
        return "".join(f"{self.sentence()}\n" for _ in range(lines))

    def folders(self, root: str, count: int) -> list[str]:
        """Return a root and so many folders at any depth below it."""
        found = [root]
        for _ in range(count):
            found.append(f"{self.choice(found)}/{self.word()}")
        return found


def folder(path: str, mode: int = 0o755, owner: tuple[int, int] = (0, 0)) -> File:
    """Return a folder to lay down."""
    return File(path, None, mode, owner)
