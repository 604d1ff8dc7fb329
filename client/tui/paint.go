package tui

import "charm.land/lipgloss/v2"

// The four meanings, and the quiet ink of times. Each stands with a word or a sign.
var (
	good    = lipgloss.NewStyle().Foreground(lipgloss.Green)
	waiting = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
	warning = lipgloss.NewStyle().Foreground(lipgloss.Yellow)
	bad     = lipgloss.NewStyle().Foreground(lipgloss.Red)
	faint   = lipgloss.NewStyle().Faint(true)
	strong  = lipgloss.NewStyle().Bold(true)
)

func (t *Terminal) paint(style lipgloss.Style, text string) string {
	if !t.opts.Colour || !t.opts.OutTerminal || text == "" {
		return text
	}
	return style.Render(text)
}

func (t *Terminal) paintErr(style lipgloss.Style, text string) string {
	if !t.opts.Colour || !t.opts.ErrTerminal || text == "" {
		return text
	}
	return style.Render(text)
}

// pad fills text up to a number of columns. Letters of some scripts take two, signs
// of colour none.
func pad(text string, columns int) string {
	for n := lipgloss.Width(text); n < columns; n++ {
		text += " "
	}
	return text
}
