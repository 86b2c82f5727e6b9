"""Small images: numbers as pixels, and grids of them."""
