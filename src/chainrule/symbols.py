"""The ids every vocabulary begins with."""

# PAD, BOS and MASK are read, never predicted: their probability is 0.
PAD, BOS, EOS, UNK, MASK = range(5)
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>", "<mask>")
FIRST = len(SPECIALS)  # the first id of a symbol of the data
IDS = 1 << 30  # more than any vocabulary has
