"""What is best: settings compared by a measure of their runs, or by somebody's judgement."""
