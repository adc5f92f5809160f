using Millrace.Server.Tests.Kit;

// Published once for all tests; one at a time, since some measure the whole machine.
[assembly: AssemblyFixture(typeof(Publication))]
[assembly: CollectionBehavior(DisableTestParallelization = true)]
