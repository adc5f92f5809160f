// Each test uses all cores by itself, and the engine's ledgers of loans are one for the process.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
