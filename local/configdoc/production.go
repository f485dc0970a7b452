package main

// production lists the settings to choose before the first use in production, most important first. reason is one
// sentence.
var production = []struct{ variable, reason string }{
	{
		"MNEME_INTERNAL_SECRET", "The gateway requires a secret that all services share, because its calls to them act for " +
			"every tenant.",
	},
	{"MNEME_KAFKA_REPLICAS", "With 3, a topic keeps the accepted turns when one broker is lost."},
	{"MNEME_KAFKA_MIN_INSYNC_REPLICAS", "With 2, Kafka acknowledges a turn only after two brokers have stored it."},
	{
		"MNEME_KAFKA_PARTITIONS", "It limits the replicas of filter and booster, and a later increase changes the order of " +
			"a user's turns.",
	},
	{
		"MNEME_KAFKA_RETENTION", "It is the longest time that topics keep users' texts, and it must cover your " +
			"longest outage.",
	},
	{
		"MNEME_WEAVIATE_REPLICAS", "With 3, the bank serves without one node, and you cannot change the number of an " +
			"existing collection.",
	},
	{"MNEME_EMBEDDING", "A bank keeps the vectors of one embedding model, so another model needs a new bank."},
	{"MNEME_TENANTS_DIRECTORY", "With true, you create tenants and keys at run time, and Redis then needs a backup."},
	{"MNEME_GATEWAY_TENANT_REQUESTS_PER_SECOND", "The limit keeps one tenant from slowing down all others."},
	{"MNEME_LLM_TENANT_TOKENS_PER_DAY", "The limit bounds the cost of each tenant under the llm policy."},
}
