package main
import (
 _ "go.temporal.io/server/temporal"
 _ "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
)
func main(){}
