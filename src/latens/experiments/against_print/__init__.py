"""The print beside its correction, on the same data: what an error of a document does, as a picture and as a number."""
