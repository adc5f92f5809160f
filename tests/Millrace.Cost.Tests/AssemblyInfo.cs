using Millrace.Server.Tests.Kit;

// What ships is measured, one thing at a time: the cores belong to a server and its load.
[assembly: AssemblyFixture(typeof(Publication))]
[assembly: CollectionBehavior(DisableTestParallelization = true)]
