// Each test counts the descriptors of the process before and after itself: two at a time would count each other's.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
