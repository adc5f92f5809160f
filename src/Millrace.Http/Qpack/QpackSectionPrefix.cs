namespace Millrace.Http;

/// <summary>
/// The start of a field section, RFC 9204 section 4.5.1: which insertions it needs, and what its indices are relative to.
/// </summary>
internal readonly record struct QpackSectionPrefix(long RequiredInsertCount, long Base)
{
    public static QpackResult Read(ref QpackReader reader, QpackTable table, out QpackSectionPrefix prefix)
    {
        prefix = default;
        QpackResult result = reader.ReadInteger(prefixBits: 8, out long encoded);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        if (!TryDecodeInsertCount(encoded, table.EntriesMax, table.InsertCount, out long required))
        {
            return QpackResult.BadInsertCount;
        }

        if (reader.IsAtEnd)
        {
            return QpackResult.Truncated;
        }

        bool isNegative = reader.First >= 0x80;
        result = reader.ReadInteger(prefixBits: 7, out long delta);
        if (result != QpackResult.Ok)
        {
            return result;
        }

        // Section 4.5.1.2: a negative base is an error even if nothing refers to it.
        if (isNegative && required <= delta)
        {
            return QpackResult.BadBase;
        }

        prefix = new QpackSectionPrefix(required, isNegative ? required - delta - 1 : required + delta);
        return QpackResult.Ok;
    }

    /// <summary>
    /// Section 4.5.1.1: the count is sent modulo twice the number of entries that a table can have, plus one. No count that can still be
    /// served is further than half of that from the insertions so far.
    /// </summary>
    public static bool TryDecodeInsertCount(long encoded, long entriesMax, long insertCount, out long required)
    {
        required = 0;
        if (encoded == 0)
        {
            return true;
        }

        long range = 2 * entriesMax;
        if (encoded > range)
        {
            return false;
        }

        long max = insertCount + entriesMax;
        long wrapped = max / range * range;
        required = wrapped + encoded - 1;
        if (required > max)
        {
            if (required <= range)
            {
                return false;
            }

            required -= range;
        }

        return required != 0;
    }
}
