"""Folders of Hugging Face, both ways and without a network: GPT-2 is `gpt`, BERT `bert`, Marian `transformer`.

Nothing in a folder is ever executed or unpickled: config.json, safetensors and tokenizer files are data.
"""

from chainrule.interop.huggingface.load import import_hf
from chainrule.interop.huggingface.save import FILES, export_hf

__all__ = ["FILES", "export_hf", "import_hf"]
