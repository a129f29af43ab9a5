"""Physics as an optimiser sees it: components to algebra, blueprints to programs and scripts."""
