"""People as judges: two systems side by side, blind, on a page of this machine."""
