package server

// HintError is an error that knows what to do about it. It is for people: the
// command prints the error, then the hint.
type HintError struct {
	Err  error
	Hint string
}

// WithHint adds to err what to do about it.
func WithHint(err error, hint string) error { return &HintError{Err: err, Hint: hint} }

func (e *HintError) Error() string { return e.Err.Error() }

// Unwrap gives the error without the hint.
func (e *HintError) Unwrap() error { return e.Err }
