using System.Diagnostics.CodeAnalysis;
using System.Text;
using Millrace.Http;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Dictionaries;

/// <summary>
/// The dictionary of what the pages of a site have in common: trained in the background, again when a fifth of the pages is new or one is
/// gone, and served under a path of its own. <see cref="Update"/> is for one thread; any thread reads the present one.
/// </summary>
internal sealed class PageDictionaries(AssetCatalog catalog)
{
    /// <summary>The family in the history: no file of a site has this name.</summary>
    public const string Family = PathPrefix + "*";

    private const string PathPrefix = "/.well-known/millrace-dictionary/";

    private static readonly byte[] PathPrefixBytes = Encoding.ASCII.GetBytes(PathPrefix);

    /// <summary>With fewer pages the dictionary is not worth its transfer.</summary>
    private const int PagesMin = 4;

    private const int SampleBytesMax = 32 * 1024;

    /// <summary>
    /// The library's training cannot be interrupted, and delays the end of the server or of a reload: a tenth of a second of processor time
    /// for this much.
    /// </summary>
    private const int SamplesBytesMax = 1024 * 1024;
    private const int DictionaryBytesMin = 2 * 1024;
    private const int DictionaryBytesMax = 64 * 1024;

    /// <summary>A dictionary much smaller than the samples: libzstd's training needs that, and it is fetched, too.</summary>
    private const int SamplesPerDictionary = 10;

    private volatile PageDictionary? _current;
    private HashSet<UInt128> _trained = [];

    /// <summary>The present dictionary; null until there is one.</summary>
    public PageDictionary? Current => _current;

    /// <summary>
    /// The dictionary that pages link to; null if no page was coded with the present one, as for lack of memory, or because nothing is
    /// gained: browsers would fetch it in vain.
    /// </summary>
    public PageDictionary? Linked => _current is { IsUsed: true } current ? current : null;

    /// <summary>Notes that a page was coded with a dictionary.</summary>
    public void MarkUsed(in DictionaryHash hash)
    {
        if (_current is { IsUsed: false } current && current.Hash == hash)
        {
            current.IsUsed = true;
        }
    }

    /// <summary>Trains a dictionary if enough pages are new. If it is cancelled, the next call does it.</summary>
    public void Update(ZstdLibrary library, IReadOnlyList<Asset> pages, CancellationToken stop)
    {
        HashSet<UInt128> present = [.. pages.Select(StateOf)];
        if (_trained.IsSubsetOf(present))
        {
            int added = present.Count - _trained.Count;
            if (added == 0 || added * 5 < _trained.Count)
            {
                return;
            }
        }
        else
        {
            // What a page does not say any more, the dictionary does not either.
            _current = null;
        }

        byte[] trained = pages.Count < PagesMin ? [] : Train(library, pages, stop);
        if (stop.IsCancellationRequested)
        {
            return;
        }

        _trained = present;
        if (trained.Length > 0 && (_current is null || DictionaryHash.Of(trained) != _current.Hash))
        {
            _current = new PageDictionary(trained, PathPrefix);
        }
    }

    /// <summary>
    /// Whether the text of a page may be in a dictionary: not if the site's rules answer its path before its files, as nobody gets it then.
    /// </summary>
    public static bool MayTeach(Asset page, SiteRules rules, PlanScratch scratch)
    {
        ReadOnlySpan<byte> path = page.Path;
        ReadOnlySpan<byte> bare = path.EndsWith(CleanUrl.Extension) ? path[..^CleanUrl.Extension.Length] : path;
        ReadOnlySpan<byte> folder = path[..(path.LastIndexOf((byte)'/') + 1)];
        return !IsAnswered(path, rules, scratch)
            && !IsAnswered(bare, rules, scratch)
            && (!SitePath.LastSegment(path).StartsWith("index."u8) || !IsAnswered(folder, rules, scratch));
    }

    private static bool IsAnswered(ReadOnlySpan<byte> path, SiteRules rules, PlanScratch scratch) =>
        rules.Proxies.Match(path, default, scratch.RuleRoom, out _) != RuleMatch.None
        || rules.ForcedRoutes.Match(path, default, scratch.RuleRoom, out _) != RuleMatch.None;

    /// <summary>Whether a path is that of a dictionary, present, earlier or never made.</summary>
    public static bool IsNamed(ReadOnlySpan<byte> path) => path.StartsWith(PathPrefixBytes);

    /// <summary>Finds the dictionary that a path names.</summary>
    public bool TryFind(ReadOnlySpan<byte> path, [NotNullWhen(true)] out PageDictionary? dictionary)
    {
        dictionary = _current;
        return dictionary is not null && path.SequenceEqual(dictionary.Path);
    }

    private static UInt128 StateOf(Asset page) => ContentDigest.Of([.. page.Path, 0, .. page.EntityTag]);

    private byte[] Train(ZstdLibrary library, IReadOnlyList<Asset> pages, CancellationToken stop)
    {
        // In the order of their paths, so that servers with the same pages have the same dictionary. Of too many, some from all parts.
        Asset[] sorted = [.. pages.OrderBy(static page => page.SitePath, SitePath.ByBytes)];
        long bytes = sorted.Sum(static page => Math.Min(page.Size, SampleBytesMax));
        int stride = (int)((bytes + SamplesBytesMax - 1) / SamplesBytesMax);
        using var samples = new MemoryStream();
        var sizes = new List<int>();
        for (int i = 0; i < sorted.Length && !stop.IsCancellationRequested; i += stride)
        {
            byte[] sample = new byte[Math.Min(sorted[i].Size, SampleBytesMax)];
            if (AssetReader.TryReadAt(catalog, sorted[i], 0, sample))
            {
                samples.Write(sample);
                sizes.Add(sample.Length);
            }
        }

        if (stop.IsCancellationRequested)
        {
            return [];
        }

        int most = (int)Math.Clamp(samples.Length / SamplesPerDictionary, DictionaryBytesMin, DictionaryBytesMax);
        return ZstdTraining.Train(library, samples.GetBuffer().AsSpan(0, (int)samples.Length), sizes.ToArray(), most);
    }
}

/// <summary>A trained dictionary, and the responses with it. Immutable.</summary>
internal sealed class PageDictionary
{
    private static readonly byte[] Type = "application/octet-stream"u8.ToArray();

    private readonly GeneratedDocument _plain;
    private readonly GeneratedDocument _brotli;
    private readonly GeneratedDocument _gzip;
    private readonly byte[] _path;
    private readonly byte[] _link;

    public PageDictionary(byte[] bytes, string pathPrefix)
    {
        Bytes = bytes;
        Hash = DictionaryHash.Of(bytes);
        string path = pathPrefix + Hash.ToHex()[..32];
        _path = Encoding.ASCII.GetBytes(path);
        _link = Encoding.ASCII.GetBytes($"<{path}>; rel=\"compression-dictionary\"");
        _plain = GeneratedDocument.WithTag(bytes, Type);
        _brotli = _plain.CodedAs(ContentCoding.Brotli);
        _gzip = _plain.CodedAs(ContentCoding.Gzip);
    }

    public byte[] Bytes { get; }

    public DictionaryHash Hash { get; }

    /// <summary>Whether a page was coded with it.</summary>
    public bool IsUsed { get; set => Volatile.Write(ref field, value); }

    public ReadOnlySpan<byte> Path => _path;

    /// <summary>The value of Link in responses with pages.</summary>
    public ReadOnlySpan<byte> Link => _link;

    /// <summary>
    /// The value of Use-As-Dictionary: only for what browsers show as pages. Scripts and styles have families of their own.
    /// </summary>
    public static ReadOnlySpan<byte> UseAs => "match=\"/*\", match-dest=(\"document\" \"frame\" \"iframe\")"u8;

    /// <summary>It in a coding; uncoded if that would not be smaller.</summary>
    public GeneratedDocument DocumentFor(ContentCoding coding) => coding switch
    {
        ContentCoding.Brotli => _brotli,
        ContentCoding.Gzip => _gzip,
        _ => _plain,
    };
}
