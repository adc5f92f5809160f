using System.Diagnostics;
using System.Globalization;

namespace Millrace.StaticFiles.Listings;

/// <summary>The sort order of a listing: directories first, then by a column, and equal entries by name.</summary>
internal readonly record struct ListingOrder(ListingColumn Column, bool IsDescending)
{
    /// <summary>
    /// Reads "sort=size&amp;order=desc" from a query; unknown parameters are ignored, and the default is by name, ascending.
    /// </summary>
    public static ListingOrder Parse(ReadOnlySpan<byte> query)
    {
        ListingOrder order = default;
        foreach (Range part in query.Split((byte)'&'))
        {
            ReadOnlySpan<byte> parameter = query[part];
            order = parameter switch
            {
                _ when parameter.SequenceEqual("sort=name"u8) => order with { Column = ListingColumn.Name },
                _ when parameter.SequenceEqual("sort=size"u8) => order with { Column = ListingColumn.Size },
                _ when parameter.SequenceEqual("sort=time"u8) => order with { Column = ListingColumn.Time },
                _ when parameter.SequenceEqual("order=asc"u8) => order with { IsDescending = false },
                _ when parameter.SequenceEqual("order=desc"u8) => order with { IsDescending = true },
                _ => order,
            };
        }

        return order;
    }

    /// <summary>The order after a click on a column: the opposite direction if it is the current column.</summary>
    public ListingOrder AfterClickOn(ListingColumn column)
    {
        // Users look for the largest and the newest first.
        bool first = column != ListingColumn.Name;
        return new(column, column == Column ? !IsDescending : first);
    }

    /// <summary>Sorts in place. No two entries have the same name, so the result is unique.</summary>
    public void Sort(Span<ListingEntry> entries)
    {
        ListingOrder order = this;
        entries.Sort((left, right) => order.Compare(left, right));
    }

    private int Compare(in ListingEntry left, in ListingEntry right)
    {
        if (left.IsDirectory != right.IsDirectory)
        {
            return left.IsDirectory ? -1 : 1;
        }

        int byColumn = Column switch
        {
            ListingColumn.Size when !left.IsDirectory => left.Size.CompareTo(right.Size),
            ListingColumn.Time => left.ModifiedAtNs.CompareTo(right.ModifiedAtNs),
            _ => 0,
        };
        int result = byColumn != 0 ? byColumn : CompareNames(left.Name.Span, right.Name.Span);
        return IsDescending ? -result : result;
    }

    /// <summary>Ignores the case of ASCII letters, unless the names are equal otherwise.</summary>
    private static int CompareNames(ReadOnlySpan<byte> left, ReadOnlySpan<byte> right)
    {
        int length = Math.Min(left.Length, right.Length);
        for (int i = left.CommonPrefixLength(right); i < length; i++)
        {
            int difference = Fold(left[i]) - Fold(right[i]);
            if (difference != 0)
            {
                return difference;
            }
        }

        return left.Length != right.Length ? left.Length - right.Length : left.SequenceCompareTo(right);
    }

    private static int Fold(byte value) => value is >= (byte)'A' and <= (byte)'Z' ? value | 0x20 : value;
}

internal enum ListingColumn : byte
{
    Name,
    Size,
    Time,
}

/// <summary>An entry of a listing. Its name is any bytes except NUL and '/'; the size of a directory is not used.</summary>
internal readonly record struct ListingEntry(ReadOnlyMemory<byte> Name, bool IsDirectory, long Size, long ModifiedAtNs)
{
    public const int TimeBytes = 20;

    /// <summary>Writes the modification time in ISO 8601, in UTC: "2024-12-31T23:59:59Z".</summary>
    public void WriteTime(Span<byte> destination)
    {
        DateTime time = DateTime.UnixEpoch.AddTicks(ModifiedAtNs / TimeSpan.NanosecondsPerTick);
        bool fits = time.TryFormat(destination, out int bytes, "yyyy-MM-ddTHH:mm:ssZ", CultureInfo.InvariantCulture);
        Debug.Assert(fits && bytes == TimeBytes, "64 bits of nanoseconds lie between the years 1677 and 2262");
    }
}
