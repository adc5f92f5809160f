// One at a time: each of them builds something with all the machine has.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
