"""Distils the word vectors of this package from a sentence encoder: each word of the encoder's own vocabulary is encoded
alone, centred, and reduced to its main directions. Run by `make word-vectors`; needs the packages of requirements.txt.

    python3 distill_words.py vectors.bin

The file is: magic "MWV1", uint32 words, uint32 dimension (little endian), the words in order of the alphabet, each ended by a newline,
then words x dimension signed bytes, row by row. Rows are unit vectors times a scale of their own.
"""

import os
import re
import struct
import sys

import numpy

from encoder import FOLDER, encode

DIMENSION = 64
WORD = re.compile(r"[a-z]{2,20}")


def main(path):
    with open(os.path.join(FOLDER, "vocab.txt"), encoding="utf-8") as f:
        words = sorted({line.strip() for line in f if WORD.fullmatch(line.strip())})
    vectors = encode(words, batch=256).astype(numpy.float64)
    vectors -= vectors.mean(axis=0)
    _, _, directions = numpy.linalg.svd(vectors, full_matrices=False)
    reduced = vectors @ directions[:DIMENSION].T
    reduced *= 127 / numpy.abs(reduced).max(axis=1, keepdims=True)
    with open(path, "wb") as f:
        f.write(b"MWV1" + struct.pack("<II", len(words), DIMENSION))
        f.write("".join(w + "\n" for w in words).encode())
        f.write(numpy.rint(reduced).astype(numpy.int8).tobytes())


if __name__ == "__main__":
    main(sys.argv[1])
