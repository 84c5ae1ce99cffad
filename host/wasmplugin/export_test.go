package wasmplugin

// SharedCache lets tests outside of the package share the folder of compiled code.
var SharedCache = sharedCache

// BuildGuest lets them build guests in Go.
var BuildGuest = buildGuest
