"""Tables in files of text: how a file is written, and its cells."""
