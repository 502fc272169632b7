// Program hello has nothing of the library.
package main

import "fmt"

func main() { fmt.Println("hello") }
