// One test sends a signal to its thread's wait; the runtime may deliver it to the wait of another.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
