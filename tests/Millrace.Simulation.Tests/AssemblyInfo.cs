// Each test uses all cores by itself, and the engine's records of lent blocks are one for the process.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
