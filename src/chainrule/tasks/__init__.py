"""Tasks (training objectives) and how they are judged: one file each."""
