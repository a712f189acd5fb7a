"""Which setting or clip is best, by judgement or by measure."""
