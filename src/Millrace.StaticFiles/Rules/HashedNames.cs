namespace Millrace.StaticFiles.Rules;

/// <summary>
/// Decides which files of one directory have a content hash in their names. Bundlers name all files of a directory by one pattern, and
/// people do not: an ambiguous name counts as hashed if enough others with the same separator and alphabet are very likely hashes. First
/// add all names of the directory, then query each. An entry of a build (<see cref="ContentHashName.IsEntry"/>) is also confirmed by one
/// other entry. Single-threaded.
/// </summary>
internal sealed class HashedNames
{
    /// <summary>
    /// Different hashes that confirm a pattern. A quarter of all base64url hashes count, half of the base32 ones, and all digests.
    /// </summary>
    private const int Base64UrlHashesMin = 2;

    /// <summary>More, because capitals resemble acronyms, and digits numbers.</summary>
    private const int OtherHashesMin = 3;

    private Pattern _afterDot;
    private Pattern _afterHyphen;

    public void Add(ReadOnlySpan<byte> path)
    {
        var name = ContentHashName.Of(path);
        ref Pattern pattern = ref PatternOf(name);
        pattern.HasOtherCapitals |= name.Alphabet == HashAlphabet.Capitals;
        if (name.Evidence < HashEvidence.Likely)
        {
            return;
        }

        AddTo(ref pattern.Hashes, name);
        if (name.IsEntry)
        {
            AddTo(ref pattern.Entries, name);
        }
    }

    public bool Contains(ReadOnlySpan<byte> path)
    {
        var name = ContentHashName.Of(path);
        return name.Evidence switch
        {
            HashEvidence.None => false,
            HashEvidence.Certain => true,
            _ => PatternOf(name).Confirms(name.Alphabet) || (name.IsEntry && PatternOf(name).HasOtherEntry(name))
                || (IsBundlersDirectory(path) && name.Alphabet != HashAlphabet.Hexadecimal),
        };
    }

    private static void AddTo(ref HashSet<ulong>[]? hashes, in ContentHashName name)
    {
        HashSet<ulong> those = (hashes ??= [[], [], [], [], []])[(int)name.Alphabet];
        if (those.Count < OtherHashesMin)
        {
            those.Add(name.Text);
        }
    }

    /// <summary>Directories that only one tool creates, with nothing but hashed names in them (Astro, Nuxt).</summary>
    private static bool IsBundlersDirectory(ReadOnlySpan<byte> path) => path.StartsWith("/_astro/"u8) || path.StartsWith("/_nuxt/"u8);

    private ref Pattern PatternOf(ContentHashName name) => ref name.Separator == (byte)'.' ? ref _afterDot : ref _afterHyphen;

    /// <summary>The statistics of the names with one separator.</summary>
    private struct Pattern
    {
        /// <summary>Different hashes by their alphabet.</summary>
        public HashSet<ulong>[]? Hashes;

        /// <summary>Those of entries.</summary>
        public HashSet<ulong>[]? Entries;
        public bool HasOtherCapitals;

        public readonly bool Confirms(HashAlphabet alphabet) => alphabet switch
        {
            HashAlphabet.Hexadecimal => Count(HashAlphabet.Hexadecimal) >= OtherHashesMin,
            HashAlphabet.Base32 when !HasOtherCapitals && Count(HashAlphabet.Base32) >= OtherHashesMin => true,
            _ => Count(HashAlphabet.Base64Url) >= Base64UrlHashesMin,
        };

        public readonly bool HasOtherEntry(in ContentHashName name) =>
            Entries?[(int)name.Alphabet] is { Count: > 0 } entries && (entries.Count > 1 || !entries.Contains(name.Text));

        private readonly int Count(HashAlphabet alphabet) => Hashes?[(int)alphabet].Count ?? 0;
    }
}
