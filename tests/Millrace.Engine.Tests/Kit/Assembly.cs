// Tests count the descriptors of the process, so they run one after the other.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
