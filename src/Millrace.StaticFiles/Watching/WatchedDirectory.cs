namespace Millrace.StaticFiles.Watching;

/// <summary>A directory of the site by one of its paths, with the watch that was put on what the path led to when it was listed.</summary>
internal sealed class WatchedDirectory(byte[] path) : Dependent(WatchTable.AnyChange)
{
    public byte[] Path => path;

    public Watch? Watch { get; set; }

    /// <summary>During which of the catalogue's reads it was listed last.</summary>
    public int EnteredAt { get; set; }
}
