using System.Diagnostics;
using System.Globalization;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Listings;

/// <summary>
/// The sort order of a listing: directories first, then by a column, and equal entries by name. Names are in natural order: their numbers
/// are compared as numbers, so that "file2" precedes "file10", and the case of ASCII letters is ignored; names that are equal in this
/// way are compared by their bytes.
/// </summary>
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

    private static int CompareNames(ReadOnlySpan<byte> left, ReadOnlySpan<byte> right)
    {
        int same = left.CommonPrefixLength(right);

        // A number that the names only begin in common is compared whole.
        while (same > 0 && char.IsAsciiDigit((char)left[same - 1]))
        {
            same--;
        }

        int result = CompareNaturally(left[same..], right[same..]);
        return result != 0 ? result : left.SequenceCompareTo(right);
    }

    private static int CompareNaturally(ReadOnlySpan<byte> left, ReadOnlySpan<byte> right)
    {
        while (!left.IsEmpty && !right.IsEmpty)
        {
            int leftDigits = DigitsAt(left);
            int rightDigits = DigitsAt(right);
            bool areNumbers = leftDigits > 0 && rightDigits > 0;
            int result = areNumbers
                ? CompareNumbers(left[..leftDigits], right[..rightDigits])
                : Fold(left[0]) - Fold(right[0]);
            if (result != 0)
            {
                return result;
            }

            left = left[(areNumbers ? leftDigits : 1)..];
            right = right[(areNumbers ? rightDigits : 1)..];
        }

        return left.Length - right.Length;
    }

    private static int DigitsAt(ReadOnlySpan<byte> text)
    {
        int digits = text.IndexOfAnyExceptInRange((byte)'0', (byte)'9');
        return digits < 0 ? text.Length : digits;
    }

    /// <summary>Compares numbers of any length, by their digits.</summary>
    private static int CompareNumbers(ReadOnlySpan<byte> left, ReadOnlySpan<byte> right)
    {
        left = left.TrimStart((byte)'0');
        right = right.TrimStart((byte)'0');
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
    /// <summary>The type of a file, for its icon; null for none.</summary>
    public ContentType? Type { get; init; }

    public const int TimeBytes = 20;

    /// <summary>Writes the modification time in ISO 8601, in UTC: "2024-12-31T23:59:59Z".</summary>
    public void WriteTime(Span<byte> destination)
    {
        DateTime time = DateTime.UnixEpoch.AddTicks(ModifiedAtNs / TimeSpan.NanosecondsPerTick);
        bool fits = time.TryFormat(destination, out int bytes, "yyyy-MM-ddTHH:mm:ssZ", CultureInfo.InvariantCulture);
        Debug.Assert(fits && bytes == TimeBytes, "64 bits of nanoseconds lie between the years 1677 and 2262");
    }
}
