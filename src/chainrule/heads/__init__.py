"""What is asked of hidden vectors: any head on any body. A language model brings its own, a softmax over symbols."""
