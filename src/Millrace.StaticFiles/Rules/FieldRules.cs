using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.StaticFiles.Snapshots;

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
    private readonly FieldSet[] _withoutRules;

    /// <summary>The sets by the bytes of their words: a bit for each block that matches, then the use.</summary>
    private readonly ConcurrentDictionary<byte[], FieldSet> _sets = new(BytesComparer.Instance);
    private readonly ConcurrentDictionary<byte[], FieldSet>.AlternateLookup<ReadOnlySpan<byte>> _setsByBytes;
    private int _setCount;

    public FieldRules(SiteOptions options, CorsPolicy? cors, IReadOnlyList<FieldBlock> siteBlocks)
    {
        _blocks = [.. siteBlocks, .. BlocksOf(options)];
        _firstOnly = siteBlocks.Count..(siteBlocks.Count + options.CacheControl.Count);
        _hasPreset = options.SecurityHeaders;
        _cors = cors;
        _withoutRules = [.. Enum.GetValues<FieldUse>().Select(use => Compose(use, []))];
        _setsByBytes = _sets.GetAlternateLookup<ReadOnlySpan<byte>>();
    }

    /// <summary>The blocks of the options, Cache-Control first. Throws <see cref="SiteException"/> for a rule that is not valid.</summary>
    public static FieldBlock[] BlocksOf(SiteOptions options) =>
    [
        .. options.CacheControl.Select(rule => BlockOf(rule.Pattern, "Cache-Control", rule.Value, hasCors: false)),
        .. options.Fields.Select(rule => BlockOf(rule.Pattern, rule.Name, rule.Value, options.Cors is not null)),
    ];

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

        return _setsByBytes.TryGetValue(MemoryMarshal.AsBytes(words), out FieldSet? set) ? set : Add(use, words);
    }

    private FieldSet Add(FieldUse use, ReadOnlySpan<ulong> words)
    {
        FieldSet made = Compose(use, words[..^1]);
        if (Volatile.Read(ref _setCount) >= RuleLimits.FieldSetsMax)
        {
            return made;
        }

        // Of two threads that race one wins, and both get its set.
        FieldSet kept = _sets.GetOrAdd(MemoryMarshal.AsBytes(words).ToArray(), made);
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
            FieldUse.HashedAsset or FieldUse.PageDictionary => CachePolicy.Immutable,
            FieldUse.PrivateHashedAsset => CachePolicy.PrivatelyImmutable,
            FieldUse.Asset or FieldUse.Error => CachePolicy.Revalidated,
            _ => null,
        };
        if (cacheControl is not null)
        {
            fields.Apply(FieldEdit.OfOption(cacheControl));
        }

        bool isOfSite = use != FieldUse.Upstream;
        foreach (Field field in _hasPreset && isOfSite ? SecurityPreset.Fields : [])
        {
            fields.Apply(FieldEdit.OfOption(field));
        }

        for (int i = 0; i < matches.Length * BitsPerWord; i++)
        {
            if ((matches[i / BitsPerWord] >> (i % BitsPerWord) & 1) != 0)
            {
                Debug.Assert(i < _blocks.Length, "only blocks have bits");
                if (isOfSite || i >= _firstOnly.End.Value)
                {
                    Apply(_blocks[i], use, fields);
                }
            }
        }

        foreach (Field field in isOfSite ? _cors?.Fields ?? [] : [])
        {
            fields.Apply(FieldEdit.OfBlock(field));
        }

        return fields.ToSet();
    }

    private static void Apply(FieldBlock block, FieldUse use, FieldList fields)
    {
        foreach (FieldEdit edit in block.Edits)
        {
            bool isAboutResource = use is not (FieldUse.Error or FieldUse.Redirect);
            bool isOwn = use == FieldUse.PageDictionary && edit.Field.Is(CachePolicy.Immutable.Name);
            if (!isOwn && (isAboutResource || !IsAboutFile(edit.Field)))
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

    private static FieldBlock BlockOf(string pattern, string name, string value, bool hasCors)
    {
        var compiled = PathPattern.Parse(pattern, PatternSyntax.Glob);
        FieldValidation.Check(name, value, hasCors);
        return new FieldBlock(compiled, [FieldEdit.OfOption(new Field(name, value))]);
    }
}

internal sealed record FieldBlock(PathPattern Pattern, IReadOnlyList<FieldEdit> Edits);

/// <summary>The kind of a response, as far as its fields depend on it.</summary>
internal enum FieldUse
{
    Asset,

    /// <summary>A file whose name changes with its content.</summary>
    HashedAsset,

    /// <summary>The same, and not everybody may see it.</summary>
    PrivateHashedAsset,

    /// <summary>An error, with or without a page: revalidated each time, because it may be fixed.</summary>
    Error,

    /// <summary>A redirect: its status determines how long it is valid.</summary>
    Redirect,

    /// <summary>An application's response, with its own fields.</summary>
    Upstream,

    /// <summary>
    /// The generated dictionary of pages, whose path changes with its content. Rules about Cache-Control are meant for the site's files:
    /// browsers could not use the dictionary by one for pages.
    /// </summary>
    PageDictionary,
}

/// <summary>
/// The fields of a response while rules edit them. Names are compared in any case; the order is that of first appearance.
/// </summary>
internal sealed class FieldList
{
    private readonly List<Field> _fields = [];

    public FieldSet ToSet() => _fields.Count == 0 ? FieldSet.Empty : new FieldSet([.. _fields]);

    public void Apply(FieldEdit edit)
    {
        int index = IndexOf(edit.Field.Name);
        if (index < 0 || edit.Kind == FieldEditKind.Add)
        {
            // Only cookies of many blocks can exceed the limit: there are fewer distinct names.
            if (edit.Kind != FieldEditKind.Remove && _fields.Count < RuleLimits.FieldsMax + SecurityPreset.Fields.Length)
            {
                _fields.Add(edit.Field);
            }

            return;
        }

        switch (edit.Kind)
        {
            case FieldEditKind.Join:
                // Too long only if hundreds of blocks match one path: the present value stays.
                _ = _fields[index].TryJoin(edit.Field, out Field joined);
                _fields[index] = joined;
                break;
            case FieldEditKind.Replace:
                _fields[index] = edit.Field;
                _ = _fields.RemoveAll(field => field != edit.Field && field.Is(edit.Field.Name));
                break;
            default:
                _ = _fields.RemoveAll(field => field.Is(edit.Field.Name));
                break;
        }
    }

    private int IndexOf(string name) => _fields.FindIndex(field => field.Is(name));
}

/// <summary>The default Cache-Control of files without a rule, by their names.</summary>
internal static class CachePolicy
{
    /// <summary>
    /// Stored, but revalidated before each use (RFC 9111, section 5.2.2.4): with entity tags this costs a 304, and an old page is never
    /// shown.
    /// </summary>
    public static readonly Field Revalidated = new("Cache-Control", "no-cache");

    /// <summary>A year means "forever" by convention; immutable avoids revalidation when the page is reloaded (RFC 8246).</summary>
    public static readonly Field Immutable = new("Cache-Control", "public, max-age=31536000, immutable");

    /// <summary>The same for paths that not everybody may see: shared caches must not store it (RFC 9111, section 3.5).</summary>
    public static readonly Field PrivatelyImmutable = new("Cache-Control", "private, max-age=31536000, immutable");

    /// <summary>Whether a set's field is one of these instances, and not a rule's, which may have the same value.</summary>
    public static bool IsDefault(Field field) => field == Revalidated || field == Immutable || field == PrivatelyImmutable;
}

/// <summary>
/// The fields that control whether and for how long a response may be stored: by all caches (RFC 9111), or by caches of a certain kind,
/// which obey only their own field (RFC 9213, whose field names end in Cache-Control; Surrogate-Control preceded it).
/// </summary>
internal static class CachingFields
{
    private static ReadOnlySpan<byte> CacheControl => "Cache-Control"u8;

    /// <summary>Whether a name, in any case, is one of these fields.</summary>
    public static bool Contain(string name) => Contain(Encoding.UTF8.GetBytes(name));

    public static bool Contain(ReadOnlySpan<byte> name) =>
        (name.Length >= CacheControl.Length && Ascii.EqualsIgnoreCase(name[^CacheControl.Length..], CacheControl))
        || Ascii.EqualsIgnoreCase(name, "Expires"u8)
        || Ascii.EqualsIgnoreCase(name, "Surrogate-Control"u8);
}

/// <summary>
/// The fields of <see cref="SiteOptions.SecurityHeaders"/>, which protect a static site independently of its content.
/// Strict-Transport-Security is not among them: it would exclude a host from plain HTTP for months, which only its owner may decide.
/// </summary>
internal static class SecurityPreset
{
    public static bool Has(Field field) => Array.IndexOf(Fields, field) >= 0;

    public static readonly Field[] Fields =
    [
        // No content sniffing: an uploaded text that looks like a script is not executed.
        new("X-Content-Type-Options", "nosniff"),

        // Other sites see the visitor's origin, not the page; http sites see nothing. The default of browsers, made explicit.
        new("Referrer-Policy", "strict-origin-when-cross-origin"),

        // Other sites may not embed the pages in a frame under their own buttons (clickjacking). For browsers without frame-ancestors; the
        // others ignore it.
        new("X-Frame-Options", "SAMEORIGIN"),

        // frame-ancestors: as above. base-uri: injected markup cannot redirect relative links and scripts to another site. No directives
        // for scripts, styles and images: a policy that does not know the pages would break them.
        new("Content-Security-Policy", "frame-ancestors 'self'; base-uri 'self'"),

        // A page of another site that opened a window of this one, or was opened by it, gets no reference to it. A sign-in page that
        // replies to its opener needs same-origin-allow-popups.
        new("Cross-Origin-Opener-Policy", "same-origin"),

        // Powerful features that a static page rarely uses: nothing in it, frames included, can request them.
        new("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ];
}
