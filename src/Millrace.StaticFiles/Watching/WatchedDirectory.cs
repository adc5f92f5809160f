namespace Millrace.StaticFiles.Watching;

/// <summary>A directory of the site under one path, with the watch of the directory that the path led to when it was listed.</summary>
internal sealed class WatchedDirectory(byte[] path) : DependencyWatch(WatchTable.AnyChange)
{
    public byte[] Path => path;

    public DirectoryWatch? Watch { get; set; }

    /// <summary>The number of the catalog read during which it was last listed.</summary>
    public int LastReadNumber { get; set; }
}
