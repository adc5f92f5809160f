using Millrace.Arena.Tests.Kit;

// All tests ask the same processes, and one changes a file.
[assembly: CollectionBehavior(DisableTestParallelization = true)]
[assembly: AssemblyFixture(typeof(Entries))]
