package api

// Class says what kind of thing a scan found. Policy is set per class; what finds
// them is package scan.
type Class string

// The classes.
const (
	// ClassSecret is a value whose own form or whose vendor's name says that it is
	// one.
	ClassSecret Class = "secret"
	// ClassSecretGeneric is a value that only the words around it make a secret, or
	// an identifier that is public by design. Often wrong, so a warning.
	ClassSecretGeneric Class = "secret-generic"
	// ClassHiddenText is text that a reader does not see and an agent does.
	ClassHiddenText Class = "hidden-text"
	// ClassHiddenComment is an HTML comment: invisible when rendered, but in honest
	// use everywhere.
	ClassHiddenComment Class = "hidden-comment"
	// ClassInstruction is text in the manner of prompt injections and grants of
	// permission.
	ClassInstruction Class = "instruction"
	// ClassPersonal is what belongs to one machine or person.
	ClassPersonal Class = "personal"
)

// Classes lists them, the gravest first.
var Classes = []Class{ClassSecret, ClassHiddenText, ClassSecretGeneric, ClassInstruction, ClassHiddenComment, ClassPersonal}

// Verdict is what is done about a finding.
type Verdict string

// The verdicts, from least to most.
const (
	VerdictAccept Verdict = "accept" // let through; shown as advice
	VerdictFlag   Verdict = "flag"   // let through, with a warning that stays
	VerdictHold   Verdict = "hold"   // becomes a proposal
	VerdictRefuse Verdict = "refuse" // does not cross
)

// Verdicts lists them in order.
var Verdicts = []Verdict{VerdictAccept, VerdictFlag, VerdictHold, VerdictRefuse}

var defaultVerdicts = map[Class]Verdict{
	ClassSecret:        VerdictRefuse,
	ClassSecretGeneric: VerdictFlag,
	ClassHiddenText:    VerdictHold,
	ClassHiddenComment: VerdictFlag,
	ClassInstruction:   VerdictFlag,
	ClassPersonal:      VerdictAccept,
}

// DefaultVerdict is the verdict on a class where no policy says otherwise. A class
// that this build does not know is refused: it can only come from a newer policy.
func DefaultVerdict(class Class) Verdict {
	if v, ok := defaultVerdicts[class]; ok {
		return v
	}
	return VerdictRefuse
}
