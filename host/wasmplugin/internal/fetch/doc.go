// Package fetch makes the HTTP requests that plugins ask for, and only those that the operator allowed. Package wasmplugin
// imports it; it knows nothing of guests.
//
// A [Client] belongs to one plugin. [Client.Start] holds a request against the rules and sends it:
//
//	c, err := fetch.New(&fetch.Config{Rules: []fetch.Rule{{URL: "https://api.test/v1/"}}})
//	x, err := c.Start(ctx, &fetch.Request{Method: "GET", URL: "https://api.test/v1/users"}, nil)
//	head, err := x.Head()
//	n, err := x.Read(buf)
//	x.Close()
//
// # Errors
//
// What a rule refuses is an [Error] of kind [Denied]; a request that is no request is [Invalid]; a bound that was met is
// [TooLarge]; all else is [Unavailable]. The text is for the operator's log: it names the rule, and no secret.
package fetch
