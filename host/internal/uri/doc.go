// Package uri parses and normalises the absolute URIs that name resources. The host routes, decides, caches and watches
// by what it returns, and providers get it; host, host/wasmplugin and host/providertest import it.
//
// net/url does not serve: it refuses docs://a%20b.md and docs://a:b.md, folds nothing, and keeps two spellings of one
// URI apart. What is done here is RFC 3986 section 6.2.2, syntax-based normalisation, and no more:
//
//   - the scheme is folded to lower case; hex digits of percent-encodings to upper case;
//   - percent-encoded unreserved characters are decoded, nothing else is ("%2F" is data, "/" a delimiter);
//   - spaces, characters beyond ASCII, and the brackets that RFC 6570 leaves in "{+path}" are percent-encoded as UTF-8;
//   - the authority is kept as sent until [URI.FoldAuthority] is asked for, because "docs://README.md" is a name to
//     providers that put a variable there;
//   - "localhost" as a file URI's authority is the empty one (RFC 8089 section 2).
//
// Normalisation is idempotent, and Parse does not allocate for a URI that is normal already.
//
// # Errors
//
// Parse fails with one of the [Error] constants. Dot segments are refused, not removed: to remove them would make one
// resource of two URIs that an access rule, a log or a person reads as two. See host/RATIONALE.md.
//
//	u, err := uri.Parse("Docs://a%7eb/%c3%a9 x") // docs://a~b/%C3%A9%20x
package uri
