"""What a file must say consistently before a model is made of it: types, shapes, values, parameters, views."""
