"""The ids every alphabet begins with."""

# PAD, BOS and MASK are read, never spoken: their probability is 0.
PAD, BOS, EOS, UNK, MASK = range(5)
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>", "<mask>")
FIRST = len(SPECIALS)  # the first id of a symbol of the data

STRANGER, FOLLOWS = (
    1,
    2,
)  # asked for at the place of BOS of a pair: whether its second half belongs to the first
