namespace Millrace.Http;

/// <summary>
/// Compares entity-tags, one or a list of them, with that of the selected representation (RFC 9110 sections 8.8.3, 13.1.1, 13.1.2).
/// </summary>
/// <remarks>
/// A list with a malformed element matches nothing, not even its valid tags: for a GET the result is a 200 with the whole body or a 412,
/// while a guess could leave stale bytes in a cache. A comma within quotes belongs to its tag.
/// </remarks>
internal static class EntityTags
{
    /// <summary>Whether a representation that exists matches an If-Match or If-None-Match value; <c>*</c> matches any.</summary>
    public static bool Matches(ReadOnlySpan<byte> fieldValue, ReadOnlySpan<byte> current, TagComparison comparison)
        => fieldValue.SequenceEqual("*"u8) || ListMatches(fieldValue, current, comparison);

    /// <summary>Whether both are the same tag. An empty value, which is not a tag, equals no tag.</summary>
    public static bool AreEqual(ReadOnlySpan<byte> left, ReadOnlySpan<byte> right, TagComparison comparison)
        => !left.IsEmpty
            && OpaqueTag(left).SequenceEqual(OpaqueTag(right))
            && (comparison == TagComparison.Weak || !(IsWeak(left) || IsWeak(right)));

    private static bool ListMatches(ReadOnlySpan<byte> list, ReadOnlySpan<byte> current, TagComparison comparison)
    {
        bool matches = false;
        ReadOnlySpan<byte> rest = list;
        while (true)
        {
            // Empty elements are ignored, RFC 9110 section 5.6.1.2.
            rest = rest.TrimStart(", \t"u8);
            if (rest.IsEmpty)
            {
                return matches;
            }

            int length = LengthAt(rest);
            matches |= AreEqual(rest[..length], current, comparison);
            rest = rest[length..].TrimStart(" \t"u8);
            if (length == 0 || (!rest.IsEmpty && rest[0] != ','))
            {
                return false;
            }
        }
    }

    // The length of the entity-tag at the start of the text, or 0.
    private static int LengthAt(ReadOnlySpan<byte> text)
    {
        int open = IsWeak(text) ? 2 : 0;
        if (text.Length <= open || text[open] != '"')
        {
            return 0;
        }

        ReadOnlySpan<byte> rest = text[(open + 1)..];
        int close = rest.IndexOf((byte)'"');
        return close < 0 || rest[..close].ContainsAnyExcept(ByteClasses.EntityTag) ? 0 : open + 1 + close + 1;
    }

    private static ReadOnlySpan<byte> OpaqueTag(ReadOnlySpan<byte> tag) => IsWeak(tag) ? tag[2..] : tag;

    // Case-sensitive, RFC 9110 section 8.8.3.
    private static bool IsWeak(ReadOnlySpan<byte> tag) => tag.StartsWith("W/"u8);
}

/// <summary>How entity-tags are compared (RFC 9110 section 8.8.3.2).</summary>
internal enum TagComparison
{
    /// <summary>The opaque tags are the same.</summary>
    Weak,

    /// <summary>The opaque tags are the same, and neither tag is weak.</summary>
    Strong,
}
