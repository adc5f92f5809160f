using System.Collections.Concurrent;
using System.Diagnostics;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The fields of responses, by path. Layers, each of which replaces the one below: defaults by name, the security preset, the site's
/// <c>_headers</c>, the options' rules, CORS. A set is made once for each combination of matching rules and interned, so a request costs
/// only its matches, and nothing without rules.
/// </summary>
internal sealed class FieldRules
{
    private const int BitsPerWord = 64;

    private readonly FieldBlock[] _blocks;

    /// <summary>The range of blocks of which only the first match applies.</summary>
    private readonly Range _firstOnly;
    private readonly bool _hasPreset;
    private readonly CorsPolicy? _cors;
    private readonly Field _immutable;
    private readonly FieldSet[] _withoutRules;
    private readonly ConcurrentDictionary<ulong[], FieldSet> _sets = new(WordsComparer.Instance);
    private readonly ConcurrentDictionary<ulong[], FieldSet>.AlternateLookup<ReadOnlySpan<ulong>> _setsByWords;
    private int _setCount;

    public FieldRules(SiteOptions options, CorsPolicy? cors, IReadOnlyList<FieldBlock> siteBlocks)
    {
        IEnumerable<FieldBlock> cacheBlocks = options.CacheControl.Select(rule => Compile(rule.Pattern, "Cache-Control", rule.Value));
        IEnumerable<FieldBlock> fieldBlocks = options.Fields.Select(rule => Compile(rule.Pattern, rule.Name, rule.Value));
        _blocks = [.. siteBlocks, .. cacheBlocks, .. fieldBlocks];
        _firstOnly = siteBlocks.Count..(siteBlocks.Count + options.CacheControl.Count);
        _hasPreset = options.SecurityHeaders;
        _cors = cors;
        _immutable = options.PasswordFile is null ? CachePolicy.Immutable : CachePolicy.PrivatelyImmutable;
        _withoutRules = [.. Enum.GetValues<FieldUse>().Select(use => Compose(use, []))];
        _setsByWords = _sets.GetAlternateLookup<ReadOnlySpan<ulong>>();
    }

    /// <summary>The fields of a response about a file, or without one (then <paramref name="filePath"/> is empty).</summary>
    public FieldSet For(FieldUse use, ReadOnlySpan<byte> urlPath, ReadOnlySpan<byte> filePath)
    {
        if (_blocks.Length == 0)
        {
            return _withoutRules[(int)use];
        }

        Span<ulong> words = stackalloc ulong[((_blocks.Length + BitsPerWord - 1) / BitsPerWord) + 1];
        words.Clear();
        words[^1] = (ulong)use;
        bool isOnePath = filePath.IsEmpty || urlPath.SequenceEqual(filePath);
        (int firstOnlyStart, int firstOnlyLength) = _firstOnly.GetOffsetAndLength(_blocks.Length);
        for (int i = 0; i < _blocks.Length; i++)
        {
            PathPattern pattern = _blocks[i].Pattern;
            if (pattern.IsMatch(urlPath) || (!isOnePath && pattern.IsMatch(filePath)))
            {
                words[i / BitsPerWord] |= 1UL << (i % BitsPerWord);
                bool decides = i >= firstOnlyStart && i < firstOnlyStart + firstOnlyLength;
                i = decides ? firstOnlyStart + firstOnlyLength - 1 : i;
            }
        }

        return _setsByWords.TryGetValue(words, out FieldSet? set) ? set : Add(use, words);
    }

    private FieldSet Add(FieldUse use, ReadOnlySpan<ulong> words)
    {
        FieldSet made = Compose(use, words[..^1]);
        if (Volatile.Read(ref _setCount) >= RuleLimits.FieldSetsMax)
        {
            return made;
        }

        // Of two threads that race one wins, and both get its set.
        ulong[] key = words.ToArray();
        FieldSet kept = _sets.GetOrAdd(key, made);
        if (ReferenceEquals(kept, made))
        {
            Interlocked.Increment(ref _setCount);
        }

        return kept;
    }

    private FieldSet Compose(FieldUse use, ReadOnlySpan<ulong> matches)
    {
        var fields = new FieldList();
        Field? cacheControl = use switch
        {
            FieldUse.HashedAsset => _immutable,
            FieldUse.Asset or FieldUse.Error => CachePolicy.Revalidated,
            _ => null,
        };
        if (cacheControl is not null)
        {
            fields.Apply(FieldEdit.OfOption(cacheControl));
        }

        foreach (Field field in _hasPreset ? SecurityPreset.Fields : [])
        {
            fields.Apply(FieldEdit.OfOption(field));
        }

        for (int i = 0; i < matches.Length * BitsPerWord; i++)
        {
            if ((matches[i / BitsPerWord] >> (i % BitsPerWord) & 1) != 0)
            {
                Debug.Assert(i < _blocks.Length, "only blocks have bits");
                Apply(_blocks[i], use, fields);
            }
        }

        foreach (Field field in _cors?.Fields ?? [])
        {
            fields.Apply(FieldEdit.OfBlock(field));
        }

        return fields.ToSet();
    }

    private static void Apply(FieldBlock block, FieldUse use, FieldList fields)
    {
        foreach (FieldEdit edit in block.Edits)
        {
            if (use is FieldUse.Asset or FieldUse.HashedAsset || !IsAboutFile(edit.Field))
            {
                fields.Apply(edit);
            }
        }
    }

    /// <summary>
    /// Fields that describe the requested file, or control how long it is stored. On an error's page they would be wrong: a 404 stored for
    /// a year, or a page saved as a file (Content-Disposition).
    /// </summary>
    private static bool IsAboutFile(Field field) =>
        CachingFields.Contain(field.NameBytes)
        || (field.Name.StartsWith("Content-", StringComparison.OrdinalIgnoreCase)
            && !field.Name.StartsWith("Content-Security-Policy", StringComparison.OrdinalIgnoreCase));

    private static FieldBlock Compile(string pattern, string name, string value)
    {
        RuleProblem? problem = FieldValidation.Of(name, value);
        if (!PathPattern.TryParse(pattern, PatternSyntax.Glob, out PathPattern? compiled, out RuleProblem? patternProblem)
            || problem is not null)
        {
            problem ??= patternProblem!;
            throw new SiteException(problem.Cause, problem.Remedy);
        }

        return new FieldBlock(compiled, [FieldEdit.OfOption(new Field(name, value))]);
    }

    private sealed class WordsComparer : IEqualityComparer<ulong[]>, IAlternateEqualityComparer<ReadOnlySpan<ulong>, ulong[]>
    {
        public static readonly WordsComparer Instance = new();

        public bool Equals(ulong[]? left, ulong[]? right) => left.AsSpan().SequenceEqual(right);

        public bool Equals(ReadOnlySpan<ulong> alternate, ulong[] other) => alternate.SequenceEqual(other);

        public int GetHashCode(ulong[] words) => GetHashCode(words.AsSpan());

        public int GetHashCode(ReadOnlySpan<ulong> alternate)
        {
            var hash = new HashCode();
            hash.AddBytes(System.Runtime.InteropServices.MemoryMarshal.AsBytes(alternate));
            return hash.ToHashCode();
        }

        public ulong[] Create(ReadOnlySpan<ulong> alternate) => alternate.ToArray();
    }
}

/// <summary>Edits of the fields of responses whose path matches a pattern.</summary>
internal sealed record FieldBlock(PathPattern Pattern, IReadOnlyList<FieldEdit> Edits);

/// <summary>The kind of a response, as far as its fields depend on it.</summary>
internal enum FieldUse
{
    /// <summary>A file.</summary>
    Asset,

    /// <summary>A file whose name changes with its content.</summary>
    HashedAsset,

    /// <summary>An error, with or without a page: revalidated each time, because it may be fixed.</summary>
    Error,

    /// <summary>A redirect: its status determines how long it is valid.</summary>
    Redirect,
}
