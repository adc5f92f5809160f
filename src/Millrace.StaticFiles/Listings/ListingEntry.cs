using System.Diagnostics;
using System.Globalization;

namespace Millrace.StaticFiles.Listings;

/// <summary>An entry of a listing.</summary>
/// <param name="Name">The bytes of the name: any except NUL and '/'.</param>
/// <param name="Kind">File or directory.</param>
/// <param name="Size">The size in bytes; not used for directories.</param>
/// <param name="ModifiedAtNs">Nanoseconds since 1970.</param>
internal readonly record struct ListingEntry(ReadOnlyMemory<byte> Name, ListingEntryKind Kind, long Size, long ModifiedAtNs)
{
    public const int TimeBytes = 20;

    public bool IsDirectory => Kind == ListingEntryKind.Directory;

    /// <summary>Writes the modification time in ISO 8601, in UTC: "2024-12-31T23:59:59Z".</summary>
    /// <param name="destination"><see cref="TimeBytes"/> bytes.</param>
    public void WriteTime(Span<byte> destination)
    {
        DateTime time = DateTime.UnixEpoch.AddTicks(ModifiedAtNs / TimeSpan.NanosecondsPerTick);
        bool fits = time.TryFormat(destination, out int bytes, "yyyy-MM-ddTHH:mm:ssZ", CultureInfo.InvariantCulture);
        Debug.Assert(fits && bytes == TimeBytes, "64 bits of nanoseconds lie between the years 1677 and 2262");
    }
}

internal enum ListingEntryKind : byte
{
    File,
    Directory,
}
