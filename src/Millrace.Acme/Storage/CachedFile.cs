namespace Millrace.Acme.Storage;

/// <summary>What a file contains, read again only after the file was replaced. Any thread; two may read it at once.</summary>
/// <param name="path">The file.</param>
/// <param name="read">Null for what is not readable. Does not throw.</param>
internal sealed class CachedFile<T>(string path, Func<string, T?> read)
    where T : class
{
    private volatile Entry _entry = new(null, null);

    /// <summary>Null: there is no file, or it is not readable.</summary>
    public T? Read()
    {
        // Before its content: what is written meanwhile is read the next time.
        var info = new FileInfo(path);
        (DateTime, long)? stamp = info.Exists ? (info.LastWriteTimeUtc, info.Length) : null;
        Entry known = _entry;
        if (known.Stamp != stamp)
        {
            _entry = known = new Entry(stamp, stamp is null ? null : read(path));
        }

        return known.Content;
    }

    private sealed record Entry((DateTime Modified, long Bytes)? Stamp, T? Content);
}
