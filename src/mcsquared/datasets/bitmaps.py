"""The thirteen letters of the paper's simulation study, drawn as 7 × 5 black-and-white images."""

import numpy as np
from numpy.typing import NDArray

from mcsquared.errors import InputError

__all__ = ["ALPHABET", "HEIGHT", "PHRASE", "WIDTH", "bitmap", "pixel_names"]

HEIGHT, WIDTH = 7, 5

PHRASE = ("INTERNATIONAL", "CONFERENCE", "MACHINE", "LEARNING")

# No letter's black pixels are a subset of another's: were F inside E, every E could as well be
# some F and a rest, and no data could tell the two accounts apart.
_DRAWINGS = """
 I      N      T      E      R      A      O
.###.  #...#  #####  #####  ####.  ..#..  .###.
..#..  #...#  ..#..  #....  #...#  .#.#.  #...#
..#..  ##..#  ..#..  #....  #...#  #...#  #...#
..#..  #.#.#  ..#..  ###..  ####.  #...#  #...#
..#..  #..##  ..#..  #....  #.#..  #####  #...#
..#..  #...#  ..#..  #....  #..#.  #...#  #...#
.###.  #...#  ..#..  #####  #...#  #...#  .###.

 L      C      F      M      H      G
#....  .####  #####  #...#  #...#  .###.
#....  #...#  #....  ##.##  #...#  #...#
#....  #....  #....  #.#.#  #...#  #....
#....  #....  ####.  #.#.#  #####  #..##
#....  #....  #....  #...#  #...#  #...#
#...#  #....  #....  #...#  #...#  #...#
#####  .####  #....  #...#  #...#  .###.
"""


def _read_drawings(text: str) -> dict[str, NDArray[np.bool_]]:
    """Cut the drawings above into one (7, 5) image per letter."""
    images = {}
    for block in text.strip("\n").split("\n\n"):
        names, *rows = (line.split() for line in block.split("\n"))
        for letter, image in zip(names, zip(*rows, strict=True), strict=True):
            images[letter] = np.array([list(row) for row in image]) == "#"
            images[letter].flags.writeable = False
    return images


_IMAGES = _read_drawings(_DRAWINGS)

# In the order in which the phrase brings them in, so that topic 0 is "I".
ALPHABET = "".join(dict.fromkeys("".join(PHRASE)))


def bitmap(letter: str) -> NDArray[np.bool_]:
    """Return the image of one letter: bool (7, 5), true where it is black."""
    if letter not in _IMAGES:
        raise InputError(f"letter is {letter!r}, but only {ALPHABET} have a bitmap")
    return _IMAGES[letter]


def pixel_names() -> list[str]:
    """Return the vocabulary of the images: "r0c0" to "r6c4", row by row."""
    return [f"r{row}c{column}" for row in range(HEIGHT) for column in range(WIDTH)]
