namespace Millrace.Cost.Tests.Kit;

/// <summary>How the server is started.</summary>
internal static class Flags
{
    /// <summary>No file is kept in memory; each is read on the ring for its request.</summary>
    public const string Ring = "--cache-max-file 0 --read-max 4m";

    /// <summary>All files are sent in pieces.</summary>
    public const string Stream = "--cache-max-file 0 --read-max 0";

    public static string[] OneReactor(string backend, string others = "") =>
    [
        "--listen", "127.0.0.1:0", "--reactors", "1", "--backend", backend, .. others.Split(' ', StringSplitOptions.RemoveEmptyEntries),
    ];
}
