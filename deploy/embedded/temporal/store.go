package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/schema/sqlite"
)

// namespace is the one that exists after start; workflows of finished runs stay visible for 24 hours.
const namespace = "default"

// prepareStore creates the schema and the namespace where they are missing. It may be cut off at any point: the
// schema is one transaction, the namespace one insert.
func prepareStore(cfg *config.Config) error {
	store := cfg.Persistence.DataStores[cfg.Persistence.DefaultStore].SQL
	if err := os.MkdirAll(filepath.Dir(store.DatabaseName), 0o755); err != nil {
		return fmt.Errorf("prepare store: %w", err)
	}
	if err := createSchema(store); err != nil {
		return err
	}
	ns, err := sqlite.NewNamespaceConfig(cfg.ClusterMetadata.CurrentClusterName, namespace, false, nil)
	if err != nil {
		return fmt.Errorf("describe namespace: %w", err)
	}
	if err := sqlite.CreateNamespaces(store, ns); err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	return nil
}

// createSchema writes all tables in one transaction, because a database with half of them could neither be used nor
// be completed. The pool holds a single connection, so the transaction spans the separate Exec calls.
func createSchema(store *config.SQL) error {
	db, err := sql.NewSQLAdminDB(sqlplugin.DbKindUnknown, store, resolver.NewNoopResolver(),
		log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer func() { _ = db.Close() }()
	tables, err := db.ListTables(store.DatabaseName)
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	if slices.Contains(tables, "namespaces") {
		return nil
	}
	if err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("create schema: %w", err)
	}
	if err := sqlite.SetupSchemaOnDB(db); err != nil {
		return fmt.Errorf("create schema: %w", err)
	}
	if err := db.Exec("COMMIT"); err != nil {
		return fmt.Errorf("create schema: %w", err)
	}
	return nil
}
