"""Layers that know neither files nor settings: numbers in, numbers out, memory in, memory out."""
