"""Charts as inline SVG and images as PNG, drawn without a plotting package."""
