"""What is best: races of settings by a measure or by judgement."""
