// Tests count the descriptors, threads and memory of the process: two at a time would count each other's.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
