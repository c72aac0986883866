"""Earlier releases of the same table, and how to read several releases side by side."""
