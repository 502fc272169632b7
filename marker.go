package idempotent

// marker is in every program into which [Wrap] is linked, and in no other: only Wrap's configuration refers to it, and the linker drops the text of
// functions that nothing calls. Tools find out by it whether what was built wraps a handler, see "idempotent doctor --template".
//
// It is text of the program and not a symbol, so stripping, trimmed paths and build tags do not remove it. It is too long for the compiler to take it
// apart. It must stay what it is: tools of other versions look for it.
const marker = "github.com/go-idempotent/idempotent: this program calls Wrap (7H2QXVT4KZ6M)"
