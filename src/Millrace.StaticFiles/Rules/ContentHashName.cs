using System.Buffers;
using System.Buffers.Binary;
using System.Text;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// Decides by a file's name alone whether it contains a content hash, as bundlers write it. <see cref="HashedNames"/> decides the cases
/// that this leaves open. Pure; allocates nothing.
/// </summary>
/// <remarks>
/// A false positive is stored for a year and cannot be revoked; a false negative costs a 304. So only the shapes that tools write count:
/// hexadecimal digests of the usual lengths (webpack, Parcel, Next.js, Hugo), eight characters of base32 (esbuild, Angular) and eight of
/// base64url (Vite, Rollup, Astro, SvelteKit). The eight characters are scored by how people write words, acronyms and numbers: the higher
/// the score, the likelier a person chose the name. The lists in tests/Millrace.StaticFiles.Tests/ContentHashes show how many of each kind
/// it gets right. The alphabet is that of a hash that depends on or supports other names of its directory, the text its eight characters,
/// to distinguish it from others. An entry is a file that the tool names itself, if its name ends with that tool's kind of hash.
/// </remarks>
internal readonly record struct ContentHashName(
    HashEvidence Evidence, HashAlphabet Alphabet, byte Separator, ulong Text, bool IsEntry = false)
{
    /// <summary>The length of base32 and base64url hashes, to which tools truncate them.</summary>
    private const int EncodedLength = 8;

    /// <summary>From this length on a digest cannot be a date, a count or a word.</summary>
    private const int LongDigestLength = 16;

    private const int UuidLength = 36;

    /// <summary>
    /// A digest of eight characters that begins with so many digits looks like a count, with or without a letter after it.
    /// </summary>
    private const int CountDigits = 7;

    private const int Base64UrlPossibleBelow = 40;

    /// <summary>Of 660 names that people chose the lowest has -53.</summary>
    private const int Base64UrlCertainBelow = -70;

    /// <summary>For "index" in Vite and Rollup: people put words after it.</summary>
    private const int IndexCertainBelow = -20;

    /// <summary>The same where a capital follows a small letter: of such words the lowest has 19.</summary>
    private const int MixedIndexCertainBelow = 10;

    private const int Base32PossibleBelow = -10;
    private const int Base32LikelyBelow = -70;
    private const int Base32AlternationPenalty = 14;

    /// <summary>Letters and digits alternate less often in words and numbers: <c>CMYK2RGB</c>.</summary>
    private const int Base32EntryAlternationsMin = 3;

    /// <summary>
    /// Rollup encodes a 128-bit number, whose first character holds two bits: three of four hashes begin with B, C or D. Names that people
    /// choose begin with any letter.
    /// </summary>
    private const int RollupInitialPenalty = 59;

    /// <summary>"vs" or "to" between acronyms and numbers.</summary>
    private const int ConjunctionBonus = 109;

    private const int VersionBonus = 76;

    private static readonly SearchValues<byte> Hexadecimal = SearchValues.Create("0123456789abcdef"u8);
    private static readonly SearchValues<byte> UpperHexadecimal = SearchValues.Create("0123456789ABCDEF"u8);
    private static readonly SearchValues<byte> Base32 = SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"u8);
    private static readonly SearchValues<byte> UpperAndDigits = SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"u8);
    private static readonly SearchValues<byte> Base64Url =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"u8);

    /// <summary>Extensions of files that bundlers create or copy.</summary>
    private static ReadOnlySpan<byte> CodeExtensions => " js mjs cjs css wasm webmanifest svg woff woff2 ttf otf eot "u8;

    /// <summary>
    /// Extensions of files that bundlers copy, too, but that people name far more often: only a digest counts there. Pages link to all
    /// other files, and documents, archives and programs keep the names that people chose.
    /// </summary>
    private static ReadOnlySpan<byte> MediaExtensions => " png jpg jpeg gif webp avif ico json mp3 mp4 ogg wav webm "u8;

    /// <summary>
    /// Evaluates the last segment of <paramref name="path"/>: <c>app.3f2a1b9c.js</c>, <c>index-DiwrgT4a.css</c>, <c>chunk-OXFT4Y2R.js</c>.
    /// </summary>
    public static ContentHashName Of(ReadOnlySpan<byte> path)
    {
        ReadOnlySpan<byte> name = SitePath.LastSegment(path);
        TrimSuffix(ref name, ".map"u8);
        int dot = name.LastIndexOf((byte)'.');
        if (dot <= 0)
        {
            return default;
        }

        ReadOnlySpan<byte> extension = name[(dot + 1)..];
        bool isCode = IsListed(extension, CodeExtensions);
        if (!isCode && !IsListed(extension, MediaExtensions))
        {
            return default;
        }

        ReadOnlySpan<byte> stem = name[..dot];
        while (TrimSuffix(ref stem, ".chunk"u8) || TrimSuffix(ref stem, ".bundle"u8) || TrimSuffix(ref stem, ".min"u8))
        {
        }

        if (IsInImmutableDirectory(path) || IsDigestAlone(stem))
        {
            return new ContentHashName { Evidence = HashEvidence.Certain };
        }

        return EndsWithDigest(stem) ? OfDigestEnd(stem) : isCode ? OfEncodedEnd(stem) : default;
    }

    /// <summary>
    /// Finds the hash in a path that has one: between the stem and the extension of its name. False if the name is a hash alone, and for
    /// source maps, which only developers fetch.
    /// </summary>
    public static bool TryFindHash(ReadOnlySpan<byte> path, out Range hash)
    {
        ReadOnlySpan<byte> name = SitePath.LastSegment(path);
        hash = default;
        int dot = name.LastIndexOf((byte)'.');
        if (dot <= 0 || name.EndsWith(".map"u8))
        {
            return false;
        }

        ReadOnlySpan<byte> stem = name[..dot];
        while (TrimSuffix(ref stem, ".chunk"u8) || TrimSuffix(ref stem, ".bundle"u8) || TrimSuffix(ref stem, ".min"u8))
        {
        }

        int start = EndsWithDigest(stem) ? stem.LastIndexOfAny((byte)'.', (byte)'-') + 1 : stem.Length - EncodedLength;
        int nameAt = path.Length - name.Length;
        hash = (nameAt + start)..(nameAt + stem.Length);
        return start > 1 && IsSeparator(stem[start - 1]);
    }

    private static bool TrimSuffix(ref ReadOnlySpan<byte> text, ReadOnlySpan<byte> suffix)
    {
        bool isThere = text.EndsWith(suffix);
        text = isThere ? text[..^suffix.Length] : text;
        return isThere;
    }

    private static bool IsListed(ReadOnlySpan<byte> extension, ReadOnlySpan<byte> list)
    {
        Span<byte> word = stackalloc byte[16];
        if (extension.IsEmpty || extension.Length > word.Length - 2 || !Ascii.IsValid(extension) || extension.Contains((byte)' '))
        {
            return false;
        }

        word.Fill((byte)' ');
        Ascii.ToLower(extension, word[1..], out int length);
        return list.IndexOf(word[..(length + 2)]) >= 0;
    }

    /// <summary>Directories whose frameworks guarantee that no file in them ever changes (Next.js, SvelteKit).</summary>
    private static bool IsInImmutableDirectory(ReadOnlySpan<byte> path)
    {
        ReadOnlySpan<byte> relative = path.TrimStart((byte)'/');
        return relative.StartsWith("_next/static/"u8) || relative.StartsWith("_app/immutable/"u8);
    }

    /// <summary>webpack and Next.js name files by the digest alone, with these lengths. Identifiers have others (24, 32, 36).</summary>
    private static bool IsDigestAlone(ReadOnlySpan<byte> stem) => stem.Length is 16 or 20 && IsDigest(stem, Hexadecimal);

    private static ContentHashName OfDigestEnd(ReadOnlySpan<byte> stem)
    {
        int start = stem.Length - EncodedLength;
        return IsSeparator(stem[start - 1])
            ? new ContentHashName(HashEvidence.Certain, HashAlphabet.Hexadecimal, stem[start - 1], TextOf(stem[start..]))
            : new ContentHashName { Evidence = HashEvidence.Certain };
    }

    private static bool EndsWithDigest(ReadOnlySpan<byte> stem)
    {
        int separator = stem.LastIndexOfAny((byte)'.', (byte)'-');
        ReadOnlySpan<byte> last = stem[(separator + 1)..];
        return separator > 0
            && last.Length is 8 or 10 or 12 or 16 or 20 or 32 or 40 or 64 or 96 or 128
            && (IsDigest(last, Hexadecimal) || (last.Length >= LongDigestLength && IsDigest(last, UpperHexadecimal)))
            && !EndsWithUuid(stem);
    }

    /// <summary>Base64url may contain the separator itself.</summary>
    private static ContentHashName OfEncodedEnd(ReadOnlySpan<byte> stem)
    {
        int start = stem.Length - EncodedLength;
        if (start <= 1 || !IsSeparator(stem[start - 1]))
        {
            return default;
        }

        ReadOnlySpan<byte> text = stem[start..];
        HashAlphabet alphabet = AlphabetOf(text);
        ReadOnlySpan<byte> name = stem[..(start - 1)];
        bool isEntry = IsEntryName(name, alphabet);
        HashEvidence evidence = alphabet switch
        {
            HashAlphabet.None => HashEvidence.None,
            HashAlphabet.Hexadecimal => IsDate(text) ? HashEvidence.None : HashEvidence.Possible,
            HashAlphabet.Base64Url => EvidenceOfBase64Url(text, isEntry),
            _ => EvidenceOfCapitals(name, text, alphabet, isEntry),
        };
        return new ContentHashName(evidence, alphabet, stem[start - 1], TextOf(text), isEntry);
    }

    /// <summary>What Vite and Rollup, and Angular and esbuild call the files of every build.</summary>
    private static bool IsEntryName(ReadOnlySpan<byte> name, HashAlphabet alphabet) => alphabet switch
    {
        HashAlphabet.Base64Url => name.SequenceEqual("index"u8),
        HashAlphabet.Base32 => name.SequenceEqual("main"u8) || name.SequenceEqual("polyfills"u8) || name.SequenceEqual("styles"u8)
            || name.SequenceEqual("scripts"u8) || name.SequenceEqual("chunk"u8),
        _ => false,
    };

    private static ulong TextOf(ReadOnlySpan<byte> text) => BinaryPrimitives.ReadUInt64LittleEndian(text);

    private static HashAlphabet AlphabetOf(ReadOnlySpan<byte> text)
    {
        bool hasUpper = text.ContainsAnyInRange((byte)'A', (byte)'Z');
        bool hasLower = text.ContainsAnyInRange((byte)'a', (byte)'z');
        return (hasUpper, hasLower) switch
        {
            (true, true) when !text.ContainsAnyExcept(Base64Url) => HashAlphabet.Base64Url,
            (true, false) when !text.ContainsAnyExcept(Base32) => HashAlphabet.Base32,
            (true, false) when !text.ContainsAnyExcept(UpperAndDigits) => HashAlphabet.Capitals,
            (false, _) when !text.ContainsAnyExcept(Hexadecimal) && LeadingDigits(text) >= CountDigits => HashAlphabet.Hexadecimal,
            _ => HashAlphabet.None,
        };
    }

    private static HashEvidence EvidenceOfBase64Url(ReadOnlySpan<byte> text, bool isEntry)
    {
        int score = Base64UrlScore(text);
        int certainBelow = !isEntry ? Base64UrlCertainBelow : HasCapitalInWord(text) ? MixedIndexCertainBelow : IndexCertainBelow;
        return score < certainBelow ? HashEvidence.Certain
            : score < Base64UrlPossibleBelow ? HashEvidence.Possible
            : HashEvidence.None;
    }

    /// <summary>Acronyms and product numbers look as random as a hash: alone, only the name before it shows one.</summary>
    private static HashEvidence EvidenceOfCapitals(ReadOnlySpan<byte> name, ReadOnlySpan<byte> text, HashAlphabet alphabet, bool isEntry)
    {
        int alternations = Alternations(text);
        int score = LetterPairs.Score(text) - (Base32AlternationPenalty * alternations);
        bool isChunk = isEntry && name.SequenceEqual("chunk"u8);
        bool isCertain = isChunk
            ? score < Base32PossibleBelow
            : isEntry && score < Base32LikelyBelow && alternations >= Base32EntryAlternationsMin;
        return isCertain ? HashEvidence.Certain
            : score < Base32LikelyBelow ? HashEvidence.Likely
            : isChunk || score < Base32PossibleBelow ? HashEvidence.Possible
            : HashEvidence.None;
    }

    private static bool IsSeparator(byte value) => value is (byte)'.' or (byte)'-';

    /// <summary>
    /// Whether it is hexadecimal and neither a number nor a word. A short one must also not be a date, nor a word with a number:
    /// <c>20240315a</c>, <c>cafe2024</c>, <c>1234567b</c>.
    /// </summary>
    private static bool IsDigest(ReadOnlySpan<byte> text, SearchValues<byte> alphabet)
    {
        int digits = 0;
        foreach (byte value in text)
        {
            digits += IsDigit(value) ? 1 : 0;
        }

        if (text.ContainsAnyExcept(alphabet) || digits == 0 || digits == text.Length)
        {
            return false;
        }

        if (text.Length >= LongDigestLength)
        {
            return true;
        }

        int leadingLetters = text.IndexOfAnyInRange((byte)'0', (byte)'9');
        bool isWordAndNumber =
            leadingLetters >= 3 && leadingLetters + digits == text.Length && LetterPairs.Score(text[..leadingLetters]) > -8;
        int leadingDigits = LeadingDigits(text);
        bool isDate = leadingDigits >= 6 && IsDate(text);
        return !isWordAndNumber && !isDate && leadingDigits < CountDigits;
    }

    private static int LeadingDigits(ReadOnlySpan<byte> text)
    {
        int end = text.IndexOfAnyExceptInRange((byte)'0', (byte)'9');
        return end < 0 ? text.Length : end;
    }

    private static bool IsDate(ReadOnlySpan<byte> digits) => digits.StartsWith("19"u8) || digits.StartsWith("20"u8);

    /// <summary>An identifier, whose content may change: <c>…-a716-446655440000</c>.</summary>
    private static bool EndsWithUuid(ReadOnlySpan<byte> stem)
    {
        if (stem.Length < UuidLength)
        {
            return false;
        }

        ReadOnlySpan<byte> uuid = stem[^UuidLength..];
        return uuid[8] == '-' && uuid[13] == '-' && uuid[18] == '-' && uuid[23] == '-';
    }

    private static int Alternations(ReadOnlySpan<byte> text)
    {
        int count = 0;
        for (int i = 1; i < text.Length; i++)
        {
            bool isLetterAndDigit = (IsLetter(text[i - 1]) && IsDigit(text[i])) || (IsDigit(text[i - 1]) && IsLetter(text[i]));
            count += isLetterAndDigit ? 1 : 0;
        }

        return count;
    }

    private static int Base64UrlScore(ReadOnlySpan<byte> text)
    {
        int score = text[0] is >= (byte)'B' and <= (byte)'D' ? -RollupInitialPenalty : 0;
        score += HasConjunction(text) ? ConjunctionBonus : 0;
        score += HasVersion(text) ? VersionBonus : 0;
        for (int i = 1; i < text.Length; i++)
        {
            score += PairScore(text[i - 1], text[i]);
        }

        return score;
    }

    /// <summary>
    /// Twenty times the natural logarithm of the likelihood ratio of names that people choose to hashes: ContentHashes/kind-pairs prints
    /// it. Letters have no weight where one word follows another, nor next to a hyphen.
    /// </summary>
    private static int PairScore(byte first, byte second) => (KindOf(first), KindOf(second)) switch
    {
        ('A', 'A') => 13 + ((3 * LetterPairs.Score(first, second)) >> 2),
        ('A', 'a') => 32 + ((8 * LetterPairs.Score(first, second)) >> 2),
        ('a', 'a') => 19 + ((6 * LetterPairs.Score(first, second)) >> 2),
        ('a', 'A') => -38,
        ('a', '0') => 8,
        ('0', 'a') => -24,
        ('A', '0') => 36,
        ('0', 'A') => -37,
        ('0', '0') => 19,
        _ => 0,
    };

    private static char KindOf(byte value) => IsDigit(value) ? '0' : IsUpper(value) ? 'A' : IsLower(value) ? 'a' : '-';

    private static bool HasCapitalInWord(ReadOnlySpan<byte> text)
    {
        for (int i = 1; i < text.Length; i++)
        {
            if (IsLower(text[i - 1]) && IsUpper(text[i]))
            {
                return true;
            }
        }

        return false;
    }

    private static bool HasConjunction(ReadOnlySpan<byte> text)
    {
        for (int i = 0; i + 2 <= text.Length; i++)
        {
            bool isOne = text[i..].StartsWith("vs"u8) || text[i..].StartsWith("to"u8);
            if (isOne && (i == 0 || !IsLower(text[i - 1])) && (i + 2 == text.Length || !IsLower(text[i + 2])))
            {
                return true;
            }
        }

        return false;
    }

    private static bool HasVersion(ReadOnlySpan<byte> text)
    {
        for (int i = 0; i + 1 < text.Length; i++)
        {
            if (text[i] == 'v' && IsDigit(text[i + 1]) && (i == 0 || !IsLower(text[i - 1])))
            {
                return true;
            }
        }

        return false;
    }

    private static bool IsDigit(byte value) => char.IsAsciiDigit((char)value);

    private static bool IsUpper(byte value) => char.IsAsciiLetterUpper((char)value);

    private static bool IsLower(byte value) => char.IsAsciiLetterLower((char)value);

    private static bool IsLetter(byte value) => char.IsAsciiLetter((char)value);
}

/// <summary>The alphabet of eight characters that may be a hash.</summary>
internal enum HashAlphabet : byte
{
    None,

    /// <summary>Digits and a to f: a digest of webpack or Parcel, or a number.</summary>
    Hexadecimal,

    /// <summary>A to Z and 2 to 7: esbuild, Angular. May also be base64url.</summary>
    Base32,

    /// <summary>Capitals and digits outside base32: base64url, or product numbers.</summary>
    Capitals,

    /// <summary>Upper and lower case: Vite, Rollup, Astro.</summary>
    Base64Url,
}

/// <summary>How strongly a name alone shows a content hash.</summary>
internal enum HashEvidence : byte
{
    None,

    /// <summary>A hash, or words, acronyms and numbers that people chose: the other names of its directory decide.</summary>
    Possible,

    /// <summary>
    /// As <see cref="Possible"/>, but people seldom choose such names: several of them confirm the pattern of their directory.
    /// </summary>
    Likely,

    /// <summary>A hash in any directory. It also counts towards the pattern of its directory.</summary>
    Certain,
}
