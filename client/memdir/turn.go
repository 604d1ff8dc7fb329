package memdir

import "time"

// patience is how long a writer waits for its turn, in steps of a millisecond. It is far
// longer than a turn lasts: whoever has one and takes that long has been stopped.
const patience = 2000

// turn makes the caller the only one of our writers, in this process and in others,
// that is between its last look and its rename in the target folder, until done. It is
// no promise against an editor, which asks for no turn; that one's text is safe by the
// exchange. Among themselves writers need it: of three at one instant a loser could
// otherwise put its text back over the winner's, and without an exchange two could
// both win.
//
// Where the file system or the system has no such lock, or nobody ends a turn, the
// caller goes on without.
func turn(target, old *folder) (done func()) {
	for range patience {
		release, taken, err := take(target, old)
		if err != nil {
			break
		}
		if taken {
			return release
		}
		<-time.After(time.Millisecond)
	}
	return func() {}
}
