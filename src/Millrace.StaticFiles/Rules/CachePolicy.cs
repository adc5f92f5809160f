namespace Millrace.StaticFiles.Rules;

/// <summary>The Cache-Control of files that no rule speaks of, by their names.</summary>
internal static class CachePolicy
{
    /// <summary>
    /// Stored, but asked about before each use (RFC 9111, section 5.2.2.4): with entity tags a 304, and never an old page.
    /// </summary>
    public static readonly Field Revalidated = new("Cache-Control", "no-cache");

    /// <summary>A year is "forever" by custom; immutable spares the question on a reload of the page (RFC 8246).</summary>
    public static readonly Field Immutable = new("Cache-Control", "public, max-age=31536000, immutable");

    /// <summary>The same where a password is asked for: no shared cache may give it to others (RFC 9111, section 3.5).</summary>
    public static readonly Field PrivatelyImmutable = new("Cache-Control", "private, max-age=31536000, immutable");

    /// <summary>Whether a set's field is one of these, and not a rule's, which may say the same.</summary>
    public static bool IsDefault(Field field) => field == Revalidated || field == Immutable || field == PrivatelyImmutable;

    /// <summary>Shorter ones are as likely a word or a version.</summary>
    private const int HashCharactersMin = 8;

    /// <summary>
    /// Whether a name carries a hash of its content, as bundlers write them: <c>app.3f2a1b9c.js</c>, <c>index-DiwrgT4a.css</c>,
    /// <c>chunk-OXFT4Y2R.js</c>. A name that does not change with its content must never look like it, so in doubt: no.
    /// </summary>
    public static bool HasContentHash(ReadOnlySpan<byte> path)
    {
        ReadOnlySpan<byte> name = path[(path.LastIndexOf((byte)'/') + 1)..];
        int dot = name.LastIndexOf((byte)'.');
        if (dot >= 0 && name[dot..].SequenceEqual(".map"u8))
        {
            // A source map is called after its file, extension included.
            name = name[..dot];
            dot = name.LastIndexOf((byte)'.');
        }

        if (dot < HashCharactersMin + 1 || dot == name.Length - 1)
        {
            return false;
        }

        ReadOnlySpan<byte> stem = name[..dot];
        int before = stem.LastIndexOfAny((byte)'.', (byte)'-');
        return before >= 0 && stem.Length - before > HashCharactersMin && LooksHashed(stem[(before + 1)..]);
    }

    /// <summary>
    /// <c>Report2024</c>, <c>cafe2024</c>, <c>CHAPTER23</c>: words of three letters or more and then a number. So do a few in a
    /// hundred hashes of eight characters; to ask about those costs a 304, not to ask about a report shows an old one for a year.
    /// </summary>
    private static bool IsWordsAndNumber(ReadOnlySpan<byte> word)
    {
        const int WordLettersMin = 3;
        ReadOnlySpan<byte> letters = word.TrimEnd("0123456789"u8);
        int length = WordLettersMin;
        for (int i = 0; i < letters.Length; i++)
        {
            bool isGap = letters[i] == '_';
            bool begins = isGap || i == 0 || letters[i - 1] == '_' || (IsUpper(letters[i]) && !IsUpper(letters[i - 1]));
            if (char.IsAsciiDigit((char)letters[i]) || (begins && length < WordLettersMin))
            {
                return false;
            }

            length = isGap ? WordLettersMin : begins ? 1 : length + 1;
        }

        return letters.Length < word.Length && length >= WordLettersMin;
    }

    private static bool IsUpper(byte value) => value is >= (byte)'A' and <= (byte)'Z';

    /// <summary>
    /// A digit, a letter, and either lower-case hexadecimal, upper-case base32 (RFC 4648, section 6) or both cases mixed.
    /// </summary>
    private static bool LooksHashed(ReadOnlySpan<byte> word)
    {
        bool hasDigit = false;
        bool hasUpper = false;
        bool hasLower = false;
        bool isHex = true;
        bool isBase32 = true;
        foreach (byte value in word)
        {
            bool isDigit = value is >= (byte)'0' and <= (byte)'9';
            bool isUpper = IsUpper(value);
            bool isLower = value is >= (byte)'a' and <= (byte)'z';
            if (!isDigit && !isUpper && !isLower && value != '_')
            {
                return false;
            }

            hasDigit |= isDigit;
            hasUpper |= isUpper;
            hasLower |= isLower;
            isHex &= isDigit || value is >= (byte)'a' and <= (byte)'f';
            isBase32 &= isUpper || value is >= (byte)'2' and <= (byte)'7';
        }

        bool isOneCaseHash = (hasLower && isHex) || (hasUpper && isBase32);
        return hasDigit && (isOneCaseHash || (hasUpper && hasLower)) && !IsWordsAndNumber(word);
    }
}
