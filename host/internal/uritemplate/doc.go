// Package uritemplate matches URIs against RFC 6570 templates and expands templates to URIs. host, host/wasmplugin and
// host/providertest import it.
//
// A template is parsed and validated by github.com/yosida95/uritemplate; matching and expansion are ours, because
// RFC 6570 defines no matching, a regular expression neither decodes once nor stays linear, and what a match gives must
// be what an expansion took:
//
//	u, err := uri.Parse(t.Expand(vars))
//	got, ok := t.Match(u, slash)      // ok, and got equals vars
//
// holds for every template that [Parse] accepts and every admissible assignment. Templates that no matching can undo are
// refused by Parse with the reason.
//
// # Admissible values
//
// Values are valid UTF-8 without NUL. Outside a query every variable has a value, and it is not empty; in a query a
// variable may be empty, and those of {?…} and {&…} may be absent. Also:
//
//   - {+name} and {/name*} hold several segments ("/" in the value), but no "\", and no dot segments or control
//     characters unless slash(name); {+name} holds no "?", no "#" and no percent-encoded triplet;
//   - {/name} holds neither "/" nor "\";
//   - every other expression holds "/", "\", control characters and dot segments only if slash(name);
//   - the expansion is a URI that package uri accepts: "docs://x/{name}" can name neither "." nor "..", and
//     "docs:{+name}" no value that begins with "//".
//
// # Forms that are not expansions
//
// Query variables match in any order. An unknown one, one that stands twice, one without "=", and an empty query do
// not match. Reserved characters that a client left unencoded in a value are taken as they are ("docs://a:b.md" is
// "a:b.md" to "docs://{name}"), save those that delimit values in that segment of the template.
//
// # Errors
//
// Parse fails with a text for the author of the template. Match does not fail.
package uritemplate
