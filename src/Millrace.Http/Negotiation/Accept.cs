namespace Millrace.Http;

/// <summary>
/// Evaluates Accept (RFC 9110 section 12.5.1) for the types that the server chooses between: application/json and text/html for listings,
/// text/html and text/plain for errors.
/// </summary>
/// <remarks>A range with a malformed weight is ignored.</remarks>
internal static class Accept
{
    /// <summary>
    /// Whether JSON has the higher weight or, with equal weights, whether JSON is named and HTML is only included: scripts send
    /// <c>application/json, text/plain, */*</c>.
    /// </summary>
    public static bool PrefersJson(ReadOnlySpan<byte> value) => Prefers(value, "application"u8, "json"u8, "text"u8, "html"u8);

    /// <summary>Whether HTML is preferred to plain text, by the same rule: browsers name it when they load a page.</summary>
    public static bool PrefersHtml(ReadOnlySpan<byte> value) => Prefers(value, "text"u8, "html"u8, "text"u8, "plain"u8);

    /// <summary>Whether text/html is named, as browsers do for a page, and not refused.</summary>
    public static bool NamesHtml(ReadOnlySpan<byte> value)
        => MediaPreference.Find(value, "text"u8, "html"u8) is { Precision: >= MediaPrecision.NamedWithParameters, Weight: > 0 };

    private static bool Prefers(
        ReadOnlySpan<byte> value,
        ReadOnlySpan<byte> type,
        ReadOnlySpan<byte> subtype,
        ReadOnlySpan<byte> otherType,
        ReadOnlySpan<byte> otherSubtype)
    {
        MediaPreference preferred = MediaPreference.Find(value, type, subtype);
        MediaPreference other = MediaPreference.Find(value, otherType, otherSubtype);
        return preferred.Weight > other.Weight
            || (preferred.Weight == other.Weight && preferred.Weight > 0 && preferred.Precision > other.Precision);
    }
}

/// <summary>The weight that Accept gives a media type, and the precision of the range that gave it. 0 if it is not listed.</summary>
internal readonly record struct MediaPreference(MediaPrecision Precision, int Weight)
{
    /// <summary>Finds <c>type/subtype</c>, both in lower case. Of ranges with the same precision the lower weight applies.</summary>
    public static MediaPreference Find(ReadOnlySpan<byte> accept, ReadOnlySpan<byte> type, ReadOnlySpan<byte> subtype)
    {
        var found = default(MediaPreference);
        foreach (ReadOnlySpan<byte> element in new ElementList(accept, hasQuotes: true))
        {
            MediaPreference other = Read(element, type, subtype);
            if (other.Precision > found.Precision
                || (other.Precision == found.Precision && other.Weight < found.Weight))
            {
                found = other;
            }
        }

        return found;
    }

    private static MediaPreference Read(ReadOnlySpan<byte> element, ReadOnlySpan<byte> type, ReadOnlySpan<byte> subtype)
    {
        var parts = new ElementList(element, (byte)';', hasQuotes: true);
        parts.MoveNext();
        MediaPrecision precision = Compare(parts.Current, type, subtype);
        int weight = Http.Weight.Max;
        while (precision != MediaPrecision.None && parts.MoveNext())
        {
            // At any position, a parameter named q is the weight (RFC 9110 section 12.5.1).
            if (!Http.Weight.IsWeight(parts.Current))
            {
                precision = precision == MediaPrecision.Named && !parts.Current.IsEmpty ? MediaPrecision.NamedWithParameters : precision;
            }
            else if (!Http.Weight.TryRead(parts.Current, out weight))
            {
                return default;
            }
        }

        return precision == MediaPrecision.None ? default : new MediaPreference(precision, weight);
    }

    private static MediaPrecision Compare(ReadOnlySpan<byte> range, ReadOnlySpan<byte> type, ReadOnlySpan<byte> subtype)
    {
        int slash = range.IndexOf((byte)'/');
        if (slash < 0)
        {
            return MediaPrecision.None;
        }

        ReadOnlySpan<byte> family = range[..slash];
        ReadOnlySpan<byte> name = range[(slash + 1)..];
        bool isAnyName = name.SequenceEqual("*"u8);
        return isAnyName && family.SequenceEqual("*"u8) ? MediaPrecision.Any
            : !Words.EqualsIgnoreCase(family, type) ? MediaPrecision.None
            : isAnyName ? MediaPrecision.Family
            : Words.EqualsIgnoreCase(name, subtype) ? MediaPrecision.Named
            : MediaPrecision.None;
    }
}

/// <summary>How precisely a media range matches a type; the most precise range applies (RFC 9110 section 12.5.1).</summary>
internal enum MediaPrecision
{
    None,

    /// <summary><c>*/*</c></summary>
    Any,

    /// <summary><c>text/*</c></summary>
    Family,

    /// <summary><c>text/html;level=1</c>: a variant of the type, so the type itself takes precedence if it is listed, too.</summary>
    NamedWithParameters,

    /// <summary><c>text/html</c></summary>
    Named,
}
