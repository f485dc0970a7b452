package main

import (
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/schema/sqlite"
)

// namespace exists after the start. Finished workflows stay visible for 24 hours.
const namespace = "default"

// prepareStore creates a missing schema and namespace. An interruption at any point is safe: the schema is one
// transaction, the namespace one insert.
func prepareStore(cfg *config.Config) error {
	store := cfg.Persistence.DataStores[cfg.Persistence.DefaultStore].SQL
	if err := os.MkdirAll(filepath.Dir(store.DatabaseName), 0o755); err != nil {
		return fmt.Errorf("prepare store: %w", err)
	}
	if err := sweep(store.DatabaseName); err != nil {
		return fmt.Errorf("sweep store: %w", err)
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

// createSchema writes all tables in one transaction, because a database with half of them could be neither used nor
// completed. The pool holds a single connection, so the transaction spans the separate Exec calls.
func createSchema(store *config.SQL) error {
	db, err := open(store)
	if err != nil {
		return err
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

// open returns the connection that all services of this process share.
func open(store *config.SQL) (sqlplugin.AdminDB, error) {
	db, err := sql.NewSQLAdminDB(sqlplugin.DbKindUnknown, store, resolver.NewNoopResolver(),
		log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return db, nil
}

// sweep rebuilds the database. Even with secure_delete, SQLite leaves parts of rows in merged pages.
func sweep(file string) (err error) {
	db, err := stdsql.Open("sqlite", "file:"+file)
	if err != nil {
		return err
	}
	_, err = db.Exec("VACUUM")
	return errors.Join(err, db.Close())
}

const (
	// checkpointInterval limits how long the write-ahead log keeps older content of pages.
	checkpointInterval = 10 * time.Second
	// sweepEvery is the number of checkpoints between two rebuilds of the database. The server answers no request
	// during a rebuild. So a database of more than sweepBytes is only rebuilt at the next start.
	sweepEvery = 6
	sweepBytes = 16 << 20
)

// checkpoint moves the write-ahead log into the database and empties it, at every interval, until ctx ends. SQLite
// would only overwrite the log from its beginning, so deleted texts would remain. At every sixth interval it rebuilds
// a small database.
func checkpoint(ctx context.Context, store *config.SQL, logger log.Logger) {
	tick := time.NewTicker(checkpointInterval)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := clean(store, n%sweepEvery == 0); err != nil {
			logger.Warn("empty the write-ahead log", tag.Error(err))
		}
	}
}

// clean empties the write-ahead log. With rebuild, it first rebuilds a database of at most sweepBytes.
func clean(store *config.SQL, rebuild bool) error {
	db, err := open(store)
	if err != nil {
		return err
	}
	info, err := os.Stat(store.DatabaseName)
	if err == nil && rebuild && info.Size() <= sweepBytes {
		err = db.Exec("VACUUM")
	}
	return errors.Join(err, db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"), db.Close())
}
