using System.Diagnostics;
using System.Globalization;

namespace Millrace.StaticFiles.Listings;

/// <summary>A line of a listing.</summary>
/// <param name="Name">The bytes of the name: any but zero and '/'.</param>
/// <param name="Kind">What it is.</param>
/// <param name="Size">Its bytes; of a directory nothing is told.</param>
/// <param name="ModifiedAtNs">Nanoseconds since 1970.</param>
internal readonly record struct ListingEntry(ReadOnlyMemory<byte> Name, ListingEntryKind Kind, long Size, long ModifiedAtNs)
{
    public const int TimeBytes = 20;

    public bool IsDirectory => Kind == ListingEntryKind.Directory;

    /// <summary>Writes the time of its last modification as ISO 8601 has it, in UTC: "2024-12-31T23:59:59Z".</summary>
    /// <param name="destination"><see cref="TimeBytes"/> bytes.</param>
    public void WriteTime(Span<byte> destination)
    {
        DateTime time = DateTime.UnixEpoch.AddTicks(ModifiedAtNs / TimeSpan.NanosecondsPerTick);
        bool fits = time.TryFormat(destination, out int bytes, "yyyy-MM-ddTHH:mm:ssZ", CultureInfo.InvariantCulture);
        Debug.Assert(fits && bytes == TimeBytes, "64 bits of nanoseconds lie between the years 1677 and 2262");
    }
}
