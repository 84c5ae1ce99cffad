// Package memprovider serves resources that Go code sets, from memory. Applications import it to publish what they hold
// anyway; authors of providers read it as the model to copy, because it is the smallest that does all a provider can.
//
//	notes, err := memprovider.New("notes", nil) // serves notes://{+path}
//	err = notes.SetText("todo/today.md", "text/markdown", "# Today\n")
//	err = h.Add(notes)                          // h is a *host.Host; notes://todo/today.md is listed and read
//
// # What to copy
//
//   - Resources are kept under the value of the template's variable, not under a URI: the host has normalised and decoded the
//     URI before it calls, so that a provider compares plain strings.
//   - A page starts behind the last item of the one before, so that a list that changes while somebody walks it neither
//     repeats an item nor loses one.
//   - Bytes are copied on their way in and out: what a provider returns belongs to the host.
//   - Events are sent after the lock is released, and none after Close.
//
// # Errors
//
// Set fails on a path that no URI can carry. Read answers provider.NotFound for a path that was not set, and
// provider.TooLarge for contents over the host's limit.
package memprovider
