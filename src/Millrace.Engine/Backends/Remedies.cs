namespace Millrace.Engine.Backends;

/// <summary>What to do about what runs out, in the words of every message about it.</summary>
internal static class Remedies
{
    public const string Descriptors = "raise the limit ('ulimit -n', LimitNOFILE= in a unit file)";
    public const string BusyPolling = "use Linux 6.9 or newer, built with CONFIG_NET_RX_BUSY_POLL, or do without busy polling";
    public const string Memory = "allow more (MemoryMax= in a unit file)";
    public const string LockedMemory = "raise the limit ('ulimit -l', LimitMEMLOCK= in a unit file) or use fewer reactors";
}
