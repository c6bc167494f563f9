"""Everything a crawler should survive."""
