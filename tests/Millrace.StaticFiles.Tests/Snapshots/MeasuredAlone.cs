namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>Tests that measure the whole process's heap: they run when no other does.</summary>
[CollectionDefinition(nameof(MeasuredAlone), DisableParallelization = true)]
public class MeasuredAlone;
