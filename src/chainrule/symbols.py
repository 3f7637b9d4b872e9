"""The ids every vocabulary begins with."""

# PAD, BOS and MASK are read, never predicted: their probability is 0.
PAD, BOS, EOS, UNK, MASK = range(5)
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>", "<mask>")
FIRST = len(SPECIALS)  # the first id of a symbol of the data
IDS = 1 << 30  # more than any vocabulary has

# The letters a word is spelled with: the bytes of its UTF-8 between two marks; a special symbol is one letter.
NO_LETTER, WORD_BEGIN, WORD_END = range(3)
SPECIAL_LETTER = 3  # that of PAD; the other special symbols follow
BYTE_LETTER = SPECIAL_LETTER + FIRST  # that of the byte 0
LETTERS = BYTE_LETTER + 256

PADDING = float("inf")  # what a frame of real numbers holds that is none
