"""Drawing: markup, scales, axes and pictures, of plain values."""
