namespace Millrace.Engine.Backends;

/// <summary>Remedies for exhausted resources, shared by all messages about them.</summary>
internal static class Advice
{
    public const string Descriptors = "raise the limit ('ulimit -n', LimitNOFILE= in a unit file)";
    public const string Memory = "allow more (MemoryMax= in a unit file)";
    public const string LockedMemory = "raise the limit ('ulimit -l', LimitMEMLOCK= in a unit file) or use fewer reactors";
}
